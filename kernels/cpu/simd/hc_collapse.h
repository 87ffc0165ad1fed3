#pragma once

/// out[t] = sum_m pre[t, m] * streams[t, m]

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

inline void run_hc_collapse(const OpContext& context, const HcCollapseArgs& args) {
  const int64_t width = args.hidden_size;
  const int64_t num_streams = args.num_streams;
  parallel_for(context, args.num_tokens, grain_for(width * num_streams),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const float* streams = args.streams + t * num_streams * width;
                   const float* pre = args.pre + t * num_streams;
                   for_vectors(width, [&](int64_t i, int64_t n) {
                     Vec sum = zero();
                     for (int64_t m = 0; m < num_streams; ++m) {
                       sum = fma(set1(pre[m]), load_n(streams + m * width + i, n), sum);
                     }
                     store_n(args.out + t * width + i, sum, n);
                   });
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
