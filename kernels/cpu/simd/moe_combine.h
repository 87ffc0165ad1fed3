#pragma once

/// out[t] = base[t] + sum_i rows[row_of[t, i]], i ascending

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

inline void run_moe_combine(const OpContext& context, const MoeCombineArgs& args) {
  const int64_t width = args.width;
  parallel_for(context, args.num_tokens, grain_for(width * (args.top_k + 1) / 2),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t* row_of = args.row_of + t * args.top_k;
                   for_vectors(width, [&](int64_t c, int64_t n) {
                     Vec sum = load_n(args.base + t * width + c, n);
                     for (int64_t i = 0; i < args.top_k; ++i) {
                       sum = add(sum, load_n(args.rows + row_of[i] * width + c, n));
                     }
                     store_n(args.out + t * width + c, sum, n);
                   });
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
