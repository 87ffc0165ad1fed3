#pragma once

/// out = silu(min(gate, limit)) * clamp(up, -limit, limit) * row_weight

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

inline void run_swiglu(const OpContext& context, const SwigluArgs& args) {
  const Vec limit = set1(args.limit > 0 ? args.limit : INFINITY);
  const Vec negative_limit = set1(args.limit > 0 ? -args.limit : -INFINITY);
  parallel_for(context, args.num_rows, grain_for(4 * args.width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Vec weight = set1(args.row_weight == nullptr ? 1.0f : args.row_weight[r]);
      for_vectors(args.width, [&](int64_t i, int64_t n) {
        const int64_t at = r * args.width + i;
        // min and max give their second operand when it is NaN, so NaN stays visible.
        const Vec gate = min(limit, load_n(args.gate + at, n));
        const Vec up = max(negative_limit, min(limit, load_n(args.up + at, n)));
        const Vec silu = div(gate, add(set1(1.0f), exponential(sub(zero(), gate))));
        store_n(args.out + at, mul(mul(silu, up), weight), n);
      });
    }
  });
}

}  // namespace
}  // namespace deepinfer::kernels
