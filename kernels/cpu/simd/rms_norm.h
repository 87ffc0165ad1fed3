#pragma once

/// out = x / sqrt(mean(x²) + eps) * weight

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

inline void run_rms_norm(const OpContext& context, const RmsNormArgs& args) {
  parallel_for(context, args.num_rows, grain_for(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = args.x + r * args.x_stride;
      float* out = args.out + r * args.out_stride;
      const float mean = dot(x, x, args.width) / static_cast<float>(args.width);
      const Vec inv_rms = set1(1.0f / sqrtf(mean + args.eps));
      for_vectors(args.width, [&](int64_t i, int64_t n) {
        const Vec normed = mul(load_n(x + i, n), inv_rms);
        store_n(out + i, mul(normed, load_bf16_n(args.weight + i, n)), n);
      });
    }
  });
}

}  // namespace
}  // namespace deepinfer::kernels
