#include <vector>

#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// The keys of token t: its window, oldest first, then the selected entries.
void collect_keys(const SparseAttentionArgs& args, int64_t t, std::vector<const float*>& keys) {
  const SequenceView& sequence = args.step.sequences[args.step.token_sequence[t]];
  const int64_t width = args.head_dim;
  const int64_t position = args.step.positions[t];
  const int64_t oldest = position < args.window ? 0 : position - args.window + 1;
  keys.clear();
  for (int64_t p = oldest; p <= position; ++p) {
    if (p >= sequence.start_position) {
      keys.push_back(args.step_keys + (sequence.token_begin + p - sequence.start_position) * width);
    } else {
      const int64_t slot = static_cast<int64_t>(sequence.state_slot) * args.ring_size;
      keys.push_back(args.ring + (slot + p % args.ring_size) * width);
    }
  }
  if (args.entries == nullptr) {
    return;
  }
  const int64_t block = args.entries_per_block;
  for (int64_t i = 0; i < args.selected_count[t]; ++i) {
    const int64_t entry = args.selected[t * args.selected_stride + i];
    keys.push_back(args.entries +
                   (sequence.block_table[entry / block] * block + entry % block) * width);
  }
}

// s_k = (q · k) * scale, top = max(s, sink)
// out = sum_k exp(s_k - top) * k / (sum_k exp(s_k - top) + exp(sink - top))
void attend(const float* q, const std::vector<const float*>& keys, int64_t width, float scale,
            float sink, std::vector<float>& scores, float* out) {
  scores.resize(keys.size());
  float top = sink;
  for (size_t k = 0; k < keys.size(); ++k) {
    float dot = 0;
    for (int64_t i = 0; i < width; ++i) {
      dot += q[i] * keys[k][i];
    }
    scores[k] = dot * scale;
    top = fmaxf(top, scores[k]);
  }
  float denominator = expf(sink - top);
  for (int64_t i = 0; i < width; ++i) {
    out[i] = 0;
  }
  for (size_t k = 0; k < keys.size(); ++k) {
    const float weight = expf(scores[k] - top);
    denominator += weight;
    for (int64_t i = 0; i < width; ++i) {
      out[i] += weight * keys[k][i];
    }
  }
  for (int64_t i = 0; i < width; ++i) {
    out[i] /= denominator;
  }
}

}  // namespace

void sparse_attention(const OpContext& context, const SparseAttentionArgs& args) {
  const int64_t num_heads = args.num_heads;
  parallel_for(context, args.step.num_tokens * num_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<const float*> keys;
    std::vector<float> scores;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t t = item / num_heads;
      const int64_t h = item % num_heads;
      if (item == begin || h == 0) {
        collect_keys(args, t, keys);
      }
      attend(args.q + item * args.head_dim, keys, args.head_dim, args.scale, args.sink[h], scores,
             args.out + item * args.head_dim);
    }
  });
}

}  // namespace deepinfer::kernels::reference
