#pragma once

/// Attention over window and selection, by blocks of keys with a running maximum. All heads share
/// their keys, so a loaded key vector serves several heads.

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

/// Heads of one piece of work; keys of a block.
constexpr int64_t kPieceHeads = 8;
constexpr int64_t kBlockKeys = 64;

/// Walks the keys of one token: its window, oldest first, then the selected entries.
struct KeyCursor {
  const SparseAttentionArgs& args;
  const SequenceView& sequence;
  int64_t token;
  int64_t oldest;
  int64_t num_window;
  int64_t num_keys;
};

DI_INLINE KeyCursor keys_of(const SparseAttentionArgs& args, int64_t t) {
  const int64_t position = args.step.positions[t];
  const int64_t oldest = larger(0, position - args.window + 1);
  const int64_t num_window = position - oldest + 1;
  const int64_t num_selected = args.entries == nullptr ? 0 : args.selected_count[t];
  return {.args = args,
          .sequence = args.step.sequences[args.step.token_sequence[t]],
          .token = t,
          .oldest = oldest,
          .num_window = num_window,
          .num_keys = num_window + num_selected};
}

inline const float* key_at(const KeyCursor& cursor, int64_t index) {
  const SparseAttentionArgs& args = cursor.args;
  const SequenceView& sequence = cursor.sequence;
  if (index >= cursor.num_window) {
    const int64_t block = args.entries_per_block;
    const int64_t entry =
        args.selected[cursor.token * args.selected_stride + index - cursor.num_window];
    return args.entries +
           (sequence.block_table[entry / block] * block + entry % block) * args.head_dim;
  }
  const int64_t position = cursor.oldest + index;
  if (position >= sequence.start_position) {
    return args.step_keys +
           (sequence.token_begin + position - sequence.start_position) * args.head_dim;
  }
  const int64_t slot = static_cast<int64_t>(sequence.state_slot) * args.ring_size;
  return args.ring + (slot + position % args.ring_size) * args.head_dim;
}

/// scores[h][k] = q[h] · keys[k] * scale
template <int64_t kHeads, int64_t kKeys>
void score_block(const float* q, const float* const* keys, int64_t width, float scale,
                 float* scores) {
  Vec acc[kHeads][kKeys];
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t k = 0; k < kKeys; ++k) {
      acc[h][k] = zero();
    }
  }
  for_vectors(width, [&](int64_t i, int64_t n) {
    Vec key[kKeys];
    for (int64_t k = 0; k < kKeys; ++k) {
      key[k] = load_n(keys[k] + i, n);
    }
    for (int64_t h = 0; h < kHeads; ++h) {
      const Vec query = load_n(q + h * width + i, n);
      for (int64_t k = 0; k < kKeys; ++k) {
        acc[h][k] = fma(query, key[k], acc[h][k]);
      }
    }
  });
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t k = 0; k < kKeys; ++k) {
      scores[h * kBlockKeys + k] = reduce_add(acc[h][k]) * scale;
    }
  }
}

/// out[h] = out[h] * decay[h] + sum_k weights[h][k] * keys[k]
template <int64_t kHeads>
void add_values(const float* weights, const float* decay, const float* const* keys,
                int64_t num_keys, int64_t width, float* out) {
  const int64_t pair = 2 * kLanes;
  int64_t i = 0;
  for (; i + pair <= width; i += pair) {
    Vec acc[kHeads][2];
    for (int64_t h = 0; h < kHeads; ++h) {
      acc[h][0] = mul(load(out + h * width + i), set1(decay[h]));
      acc[h][1] = mul(load(out + h * width + i + kLanes), set1(decay[h]));
    }
    for (int64_t k = 0; k < num_keys; ++k) {
      const Vec v0 = load(keys[k] + i);
      const Vec v1 = load(keys[k] + i + kLanes);
      for (int64_t h = 0; h < kHeads; ++h) {
        const Vec weight = set1(weights[h * kBlockKeys + k]);
        acc[h][0] = fma(weight, v0, acc[h][0]);
        acc[h][1] = fma(weight, v1, acc[h][1]);
      }
    }
    for (int64_t h = 0; h < kHeads; ++h) {
      store(out + h * width + i, acc[h][0]);
      store(out + h * width + i + kLanes, acc[h][1]);
    }
  }
  for (; i < width; i += kLanes) {
    const int64_t n = smaller(kLanes, width - i);
    for (int64_t h = 0; h < kHeads; ++h) {
      Vec acc = mul(load_n(out + h * width + i, n), set1(decay[h]));
      for (int64_t k = 0; k < num_keys; ++k) {
        acc = fma(set1(weights[h * kBlockKeys + k]), load_n(keys[k] + i, n), acc);
      }
      store_n(out + h * width + i, acc, n);
    }
  }
}

/// Running softmax of the heads of a piece.
struct HeadState {
  float top[kPieceHeads];
  float denominator[kPieceHeads];
  float decay[kPieceHeads];
  alignas(64) float scores[kPieceHeads * kBlockKeys];
};

/// Turns the scores of one block into weights relative to the new maximum.
inline void update_softmax(HeadState& state, int64_t h, int64_t num_keys) {
  float* scores = state.scores + h * kBlockKeys;
  float top = state.top[h];
  for (int64_t k = 0; k < num_keys; ++k) {
    top = scores[k] > top ? scores[k] : top;
  }
  state.decay[h] = expf(state.top[h] - top);
  state.top[h] = top;
  Vec sum = zero();
  for_vectors(num_keys, [&](int64_t k, int64_t n) {
    const Vec weight = exponential(sub(load_n(scores + k, n), set1(top)));
    store_n(scores + k, weight, n);
    sum = add(sum, load_n(scores + k, n));
  });
  state.denominator[h] = state.denominator[h] * state.decay[h] + reduce_add(sum);
}

template <int64_t kHeads>
void score_heads(const float* q, const float* const* keys, int64_t num_keys, int64_t width,
                 float scale, float* scores) {
  int64_t k = 0;
  for (; k + kInnerKeys <= num_keys; k += kInnerKeys) {
    score_block<kHeads, kInnerKeys>(q, keys + k, width, scale, scores + k);
  }
  for (; k < num_keys; ++k) {
    score_block<kHeads, 1>(q, keys + k, width, scale, scores + k);
  }
}

/// Heads [first, first + heads) of token t.
inline void attend(const SparseAttentionArgs& args, int64_t t, int64_t first_head, int64_t heads,
                   HeadState& state) {
  const int64_t width = args.head_dim;
  const KeyCursor cursor = keys_of(args, t);
  const float* q = args.q + (t * args.num_heads + first_head) * width;
  float* out = args.out + (t * args.num_heads + first_head) * width;
  for (int64_t h = 0; h < heads; ++h) {
    // The sink is the first logit; it has no value.
    state.top[h] = args.sink[first_head + h];
    state.denominator[h] = 1.0f;
  }
  memset(out, 0, static_cast<size_t>(heads * width) * sizeof(float));
  for (int64_t begin = 0; begin < cursor.num_keys; begin += kBlockKeys) {
    const int64_t num_keys = smaller(kBlockKeys, cursor.num_keys - begin);
    const float* keys[kBlockKeys];
    for (int64_t k = 0; k < num_keys; ++k) {
      keys[k] = key_at(cursor, begin + k);
    }
    int64_t h = 0;
    for (; h + kInnerHeads <= heads; h += kInnerHeads) {
      score_heads<kInnerHeads>(q + h * width, keys, num_keys, width, args.scale,
                               state.scores + h * kBlockKeys);
    }
    for (; h < heads; ++h) {
      score_heads<1>(q + h * width, keys, num_keys, width, args.scale,
                     state.scores + h * kBlockKeys);
    }
    for (h = 0; h < heads; ++h) {
      update_softmax(state, h, num_keys);
    }
    h = 0;
    for (; h + kInnerHeads <= heads; h += kInnerHeads) {
      add_values<kInnerHeads>(state.scores + h * kBlockKeys, state.decay + h, keys, num_keys, width,
                              out + h * width);
    }
    for (; h < heads; ++h) {
      add_values<1>(state.scores + h * kBlockKeys, state.decay + h, keys, num_keys, width,
                    out + h * width);
    }
  }
  for (int64_t h = 0; h < heads; ++h) {
    const Vec inv = set1(1.0f / state.denominator[h]);
    for_vectors(width, [&](int64_t i, int64_t n) {
      store_n(out + h * width + i, mul(load_n(out + h * width + i, n), inv), n);
    });
  }
}

inline void run_sparse_attention(const OpContext& context, const SparseAttentionArgs& args) {
  const int64_t pieces = (args.num_heads + kPieceHeads - 1) / kPieceHeads;
  const int64_t work = args.window * args.head_dim;
  parallel_for(context, args.step.num_tokens * pieces, grain_for(work),
               [&](int64_t begin, int64_t end) {
                 HeadState state;
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t first_head = item % pieces * kPieceHeads;
                   attend(args, item / pieces, first_head,
                          smaller(kPieceHeads, args.num_heads - first_head), state);
                 }
               });
}

}  // namespace
}  // namespace deepinfer::kernels
