#pragma once

/// streams[t, k] = post[t, k] * y[t] + sum_j comb[t, j, k] * streams[t, j]

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

/// One token; kStreams is num_streams, or 0 for any number up to kMaxStreams.
template <int64_t kStreams>
void expand_token(const HcExpandArgs& args, int64_t t) {
  const int64_t width = args.hidden_size;
  const int64_t num_streams = kStreams > 0 ? kStreams : args.num_streams;
  const float* post = args.post + t * num_streams;
  const float* comb = args.comb + t * num_streams * num_streams;
  float* streams = args.streams + t * num_streams * width;
  for_vectors(width, [&](int64_t i, int64_t n) {
    Vec old[kStreams > 0 ? kStreams : kMaxStreams];
    for (int64_t j = 0; j < num_streams; ++j) {
      old[j] = load_n(streams + j * width + i, n);
    }
    const Vec y = load_n(args.y + t * width + i, n);
    for (int64_t k = 0; k < num_streams; ++k) {
      Vec sum = mul(set1(post[k]), y);
      for (int64_t j = 0; j < num_streams; ++j) {
        sum = fma(set1(comb[j * num_streams + k]), old[j], sum);
      }
      store_n(streams + k * width + i, sum, n);
    }
  });
}

inline void run_hc_expand(const OpContext& context, const HcExpandArgs& args) {
  parallel_for(context, args.num_tokens,
               grain_for(args.hidden_size * args.num_streams * args.num_streams / 2),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   if (args.num_streams == 4) {
                     expand_token<4>(args, t);
                   } else {
                     expand_token<0>(args, t);
                   }
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
