#pragma once

/// scores[t, j] = sum_n weights[t, n] * relu(q[t, n] · key(j)): lanes are heads, so that only one
/// horizontal sum a key is left.

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

/// Heads that are computed together, and keys that share a load of the queries.
constexpr int64_t kIndexHeads = 2 * kLanes;
constexpr int64_t kIndexKeys = 4;
/// Entries of one piece of work.
constexpr int64_t kIndexEntries = 256;
/// Channels of the transposed queries; wider heads take the plain path.
constexpr int64_t kIndexMaxDim = 512;

/// Queries [kIndexHeads] of one token by channel, and their weights; absent heads are zero.
struct IndexQueries {
  float q[kIndexMaxDim * kIndexHeads];
  float weights[kIndexHeads];
};

inline void transpose_queries(const IndexScoresArgs& args, int64_t t, int64_t head,
                              IndexQueries& queries) {
  for (int64_t h = 0; h < kIndexHeads; ++h) {
    const bool present = head + h < args.num_heads;
    const int64_t row = t * args.num_heads + head + h;
    queries.weights[h] = present ? args.weights[row] : 0.0f;
    for (int64_t i = 0; i < args.head_dim; ++i) {
      queries.q[i * kIndexHeads + h] = present ? args.q[row * args.head_dim + i] : 0.0f;
    }
  }
}

/// out[k] (+)= score of keys[k] over the heads in `queries`.
template <int64_t kKeys>
void score_keys(const IndexQueries& queries, const float* const* keys, int64_t dim, bool add_up,
                float* out) {
  Vec acc[kKeys][2];
  for (int64_t k = 0; k < kKeys; ++k) {
    acc[k][0] = zero();
    acc[k][1] = zero();
  }
  for (int64_t i = 0; i < dim; ++i) {
    const Vec q0 = load(queries.q + i * kIndexHeads);
    const Vec q1 = load(queries.q + i * kIndexHeads + kLanes);
    for (int64_t k = 0; k < kKeys; ++k) {
      const Vec key = set1(keys[k][i]);
      acc[k][0] = fma(q0, key, acc[k][0]);
      acc[k][1] = fma(q1, key, acc[k][1]);
    }
  }
  for (int64_t k = 0; k < kKeys; ++k) {
    const Vec low = mul(load(queries.weights), max(acc[k][0], zero()));
    const float sum = reduce_add(fma(load(queries.weights + kLanes), max(acc[k][1], zero()), low));
    out[k] = add_up ? out[k] + sum : sum;
  }
}

DI_INLINE const float* index_key(const IndexScoresArgs& args, const SequenceView& sequence,
                                 int64_t entry) {
  const int64_t block = args.entries_per_block;
  const int64_t row = sequence.block_table[entry / block] * block + entry % block;
  return args.keys + row * args.head_dim;
}

inline void score_wide_heads(const IndexScoresArgs& args, int64_t t, int64_t begin, int64_t end) {
  const SequenceView& sequence = args.step.sequences[args.step.token_sequence[t]];
  for (int64_t j = begin; j < end; ++j) {
    float sum = 0;
    for (int64_t n = t * args.num_heads; n < (t + 1) * args.num_heads; ++n) {
      const float d = dot(args.q + n * args.head_dim, index_key(args, sequence, j), args.head_dim);
      sum += args.weights[n] * (d > 0 ? d : 0.0f);
    }
    args.scores[t * args.scores_stride + j] = sum;
  }
}

/// Entries [begin, end) of token t.
inline void score_entries(const IndexScoresArgs& args, int64_t t, int64_t begin, int64_t end,
                          IndexQueries& queries) {
  const SequenceView& sequence = args.step.sequences[args.step.token_sequence[t]];
  float* scores = args.scores + t * args.scores_stride;
  for (int64_t head = 0; head < args.num_heads; head += kIndexHeads) {
    transpose_queries(args, t, head, queries);
    const float* keys[kIndexKeys];
    int64_t j = begin;
    for (; j + kIndexKeys <= end; j += kIndexKeys) {
      for (int64_t k = 0; k < kIndexKeys; ++k) {
        keys[k] = index_key(args, sequence, j + k);
      }
      score_keys<kIndexKeys>(queries, keys, args.head_dim, head > 0, scores + j);
    }
    for (; j < end; ++j) {
      keys[0] = index_key(args, sequence, j);
      score_keys<1>(queries, keys, args.head_dim, head > 0, scores + j);
    }
  }
}

inline void run_index_scores(const OpContext& context, const IndexScoresArgs& args) {
  int64_t most = 0;
  for (int64_t t = 0; t < args.step.num_tokens; ++t) {
    most = larger(most, args.visible[t]);
  }
  const int64_t pieces = (most + kIndexEntries - 1) / kIndexEntries;
  const int64_t work = smaller(most, kIndexEntries) * args.num_heads * args.head_dim / 8;
  parallel_for(context, args.step.num_tokens * pieces, grain_for(work),
               [&](int64_t begin, int64_t end) {
                 alignas(64) IndexQueries queries;
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t t = item / pieces;
                   const int64_t from = item % pieces * kIndexEntries;
                   const int64_t to = smaller(args.visible[t], from + kIndexEntries);
                   if (from >= to) {
                     continue;
                   }
                   if (args.head_dim <= kIndexMaxDim) {
                     score_entries(args, t, from, to, queries);
                   } else {
                     score_wide_heads(args, t, from, to);
                   }
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
