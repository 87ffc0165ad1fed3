#pragma once

/// The op table: every operation the model graph is made of, one function pointer each.
///
/// Conventions. T = tokens of the step, D = hidden size, M = hyper-connection streams,
/// H = heads, C = head_dim, R = rotated channels (the last R of C). Activations and caches
/// are float32, dense row-major unless a stride is given (in elements). Outputs never alias
/// inputs unless said so. Ops do not fail: callers check shapes when the model is loaded.
/// Every op is called from one thread and may fork over `OpContext::parallel_for`; its result
/// does not depend on the number of threads. Section numbers refer to the V4.1 model
/// specification (docs/model.md gives the formulas).
///
/// Only standard C headers and tensor_view.h here (see there).

#include <cstdint>

#include "kernels/tensor_view.h"

namespace deepinfer::kernels {

/// Most hyper-connection streams (M) that every variant handles.
inline constexpr int64_t kMaxStreams = 16;

/// Most experts that every variant routes to.
inline constexpr int64_t kMaxExperts = 65536;

/// What an op may use besides its arguments.
struct OpContext {
  using RangeFn = void (*)(void* arg, int64_t begin, int64_t end);
  /// Runs `fn(arg, begin, end)` over pieces of [0, count) of at least `grain` elements on the
  /// device's threads, the caller included; returns when all are done. Not re-entrant.
  void (*parallel_for)(void* pool, int64_t count, int64_t grain, RangeFn fn, void* arg) = nullptr;
  void* pool = nullptr;
};

/// `fn(begin, end)` over [0, count) through the context. Internal linkage on purpose: see
/// CONTRIBUTING.md, "Add a kernel".
template <typename Fn>
static void parallel_for(const OpContext& context, int64_t count, int64_t grain, const Fn& fn) {
  if (count <= 0) {
    return;
  }
  if (context.parallel_for == nullptr || count <= grain) {
    fn(int64_t{0}, count);
    return;
  }
  context.parallel_for(
      context.pool, count, grain,
      [](void* arg, int64_t begin, int64_t end) { (*static_cast<const Fn*>(arg))(begin, end); },
      const_cast<Fn*>(&fn));
}

/// One sequence's part of the step.
struct SequenceView {
  /// Row of this sequence in every per-sequence state array.
  int32_t state_slot = 0;
  /// Its tokens are rows [token_begin, token_begin + num_tokens) of the step.
  int32_t token_begin = 0;
  int32_t num_tokens = 0;
  /// Absolute position of its first token in the step.
  int32_t start_position = 0;
  /// Cache blocks of the sequence, in order.
  const int32_t* block_table = nullptr;
};

/// The step as the ops see it.
struct StepView {
  const SequenceView* sequences = nullptr;
  int32_t num_sequences = 0;
  int32_t num_tokens = 0;
  /// [T] index into `sequences`.
  const int32_t* token_sequence = nullptr;
  /// [T] absolute positions.
  const int32_t* positions = nullptr;
};

/// §4.1 step 1: streams[t, m] = table[ids[t]] for every stream m.
struct EmbedArgs {
  const int32_t* ids;     ///< [T]
  const uint16_t* table;  ///< BF16 [vocab, D]
  int64_t num_tokens, hidden_size, num_streams;
  float* streams;  ///< [T, M, D]
};

/// §1: out[t] = x[t] / sqrt(mean(x[t]²) + eps) * weight. `out` may be `x`.
struct RmsNormArgs {
  const float* x;
  int64_t x_stride;
  const uint16_t* weight;  ///< BF16 [width]
  int64_t num_rows, width;
  float eps;
  float* out;
  int64_t out_stride;
};

/// §4.2: the three mixes of one sub-layer.
struct HcMixArgs {
  const float* streams;  ///< [T, M, D]
  const float* fn;       ///< [(2 + M) * M, M * D]
  const float* base;     ///< [(2 + M) * M]
  const float* scale;    ///< [3]
  int64_t num_tokens, num_streams, hidden_size;
  int32_t sinkhorn_iters;
  float rms_eps, hc_eps;
  float* pre;   ///< [T, M]
  float* post;  ///< [T, M]
  float* comb;  ///< [T, M, M], source stream by destination stream
};

/// §4.2: out[t] = sum_m pre[t, m] * streams[t, m].
struct HcCollapseArgs {
  const float* streams;  ///< [T, M, D]
  const float* pre;      ///< [T, M]
  int64_t num_tokens, num_streams, hidden_size;
  float* out;  ///< [T, D]
};

/// §4.2: streams[t, k] = post[t, k] * y[t] + sum_j comb[t, j, k] * streams[t, j], in place.
struct HcExpandArgs {
  const float* y;     ///< [T, D]
  const float* post;  ///< [T, M]
  const float* comb;  ///< [T, M, M]
  int64_t num_tokens, num_streams, hidden_size;
  float* streams;  ///< [T, M, D]
};

/// out[t, n] = sum_k x[t, k] * weight[n, k]. num_tokens may be 0.
struct LinearProblem {
  const float* x = nullptr;  ///< [num_tokens, weight.cols]
  int64_t x_stride = 0;
  int64_t num_tokens = 0;
  WeightView weight;
  float* out = nullptr;  ///< [num_tokens, weight.rows]
  int64_t out_stride = 0;
};

/// Independent problems solved as one parallel region (projections of one input, groups of
/// `wo_a`, experts of a layer). Accumulates in float32.
struct LinearArgs {
  const LinearProblem* problems;
  int64_t num_problems;
};

/// §4.3: rotates adjacent pairs of the last R channels by position * inv_freq, in place. The
/// angle is rounded to float32 before cos/sin.
struct RopeArgs {
  float* x;  ///< [num_rows, num_heads, head_dim]
  int64_t num_rows, num_heads, head_dim, rope_dim;
  const int32_t* positions;  ///< [num_rows]
  const float* inv_freq;     ///< [R / 2]
  bool inverse;
};

/// dst row indices[i] = src row i.
struct ScatterRowsArgs {
  const float* src;  ///< [num_rows, width]
  int64_t src_stride;
  const int64_t* indices;  ///< [num_rows], distinct
  int64_t num_rows, width;
  float* dst;  ///< [*, width]
};

/// dst row i = src row indices[i].
struct GatherRowsArgs {
  const float* src;  ///< [*, width]
  int64_t src_stride;
  const int64_t* indices;  ///< [num_rows]
  int64_t num_rows, width;
  float* dst;  ///< [num_rows, width]
  int64_t dst_stride;
};

/// §4.5: per entry and channel, the softmax over the group's gates weighs its values.
struct CompressPoolArgs {
  const float* values;  ///< [num_entries, ratio, width]
  const float* gates;   ///< [num_entries, ratio, width]
  int64_t num_entries, ratio, width;
  float* out;  ///< [num_entries, width]
};

/// §4.6: scores[t, j] = sum_n weights[t, n] * relu(q[t, n] · key(j)) for j < visible[t]. Entry
/// j of a sequence is row block_table[j / E] * E + j % E of `keys`, E = entries_per_block.
/// Scores at j >= visible[t] are left alone.
struct IndexScoresArgs {
  StepView step;
  const float* q;        ///< [T, N, I]
  const float* weights;  ///< [T, N], both constants included
  int64_t num_heads, head_dim;
  const float* keys;  ///< [num_blocks * E, I]
  int32_t entries_per_block;
  const int32_t* visible;  ///< [T]
  float* scores;           ///< [T, scores_stride]
  int64_t scores_stride;
};

/// §4.6: the best blocks of `block_size` entries by their best visible score; the block of the
/// newest visible entry always stays. Ties: smaller block.
struct CandidateBlocksArgs {
  const float* scores;  ///< [T, scores_stride]
  int64_t scores_stride;
  const int32_t* visible;  ///< [T]
  int64_t num_tokens;
  int32_t block_size, num_keep;
  uint8_t* keep;  ///< [T, keep_stride]: 1 for kept blocks, 0 for others with visible entries
  int64_t keep_stride;
};

/// §4.6: the `top_k` visible entries with the highest score, in ascending order. Ties: smaller
/// entry. With `allowed_blocks`, only entries of blocks marked 1 (see CandidateBlocksArgs).
struct SelectTopKArgs {
  const float* scores;  ///< [T, scores_stride]
  int64_t scores_stride;
  const int32_t* visible;  ///< [T]
  int64_t num_tokens;
  int32_t top_k;
  const uint8_t* allowed_blocks;  ///< [T, allowed_stride] or null
  int64_t allowed_stride;
  int32_t allowed_block_size;
  int32_t* selected;  ///< [T, top_k]
  int32_t* count;     ///< [T]
};

/// §4.4 step 4: attention over window ∪ selection with one sink logit per head.
///
/// Window keys of query position p are those of positions max(0, p - window + 1) .. p: row
/// `position % ring_size` of the sequence's ring for positions before the step, else the
/// step's own row of `step_keys`. Selected entries are found as in IndexScoresArgs.
struct SparseAttentionArgs {
  StepView step;
  const float* q;  ///< [T, H, C], rotated
  int64_t num_heads, head_dim;
  float scale;             ///< 1 / sqrt(C)
  const float* sink;       ///< [H]
  const float* step_keys;  ///< [T, C], rotated
  const float* ring;       ///< [num_slots, ring_size, C]
  int32_t ring_size, window;
  const float* entries;  ///< [num_blocks * E, C] or null: no compressed entries
  int32_t entries_per_block;
  const int32_t* selected;  ///< [T, selected_stride]
  int64_t selected_stride;
  const int32_t* selected_count;  ///< [T]
  float* out;                     ///< [T, H, C]
};

/// §4.8: routing. ids best first; ties: smaller expert.
struct MoeGateArgs {
  const float* x;          ///< [T, D]
  const uint16_t* weight;  ///< BF16 [num_experts, D]
  const float* bias;       ///< [num_experts]
  int64_t num_tokens, hidden_size, num_experts;
  int32_t top_k;
  bool normalize;
  float scaling_factor;
  int32_t* ids;    ///< [T, top_k]
  float* weights;  ///< [T, top_k]
};

/// §4.8: out = silu(min(gate, limit)) * clamp(up, ±limit) * row_weight. limit 0 = no clamp;
/// row_weight null = 1. `out` may be `gate`.
struct SwigluArgs {
  const float* gate;  ///< [num_rows, width]
  const float* up;    ///< [num_rows, width]
  int64_t num_rows, width;
  float limit;
  const float* row_weight;  ///< [num_rows] or null
  float* out;               ///< [num_rows, width]
};

/// out[t] = base[t] + sum_i rows[row_of[t, i]], i ascending. `out` may be `base`.
struct MoeCombineArgs {
  const float* base;      ///< [T, D]
  const float* rows;      ///< [*, D]
  const int64_t* row_of;  ///< [T, top_k]
  int64_t num_tokens, top_k, width;
  float* out;  ///< [T, D]
};

/// §4.7: out[t] = concat over columns of the dequantised table rows.
struct EngramGatherArgs {
  WeightView table;     ///< [rows, dim], FP8, one scale per row and 32 columns
  const int64_t* rows;  ///< [T, num_columns]
  int64_t num_tokens, num_columns;
  float* out;  ///< [T, num_columns * dim]
};

/// §4.7: streams[t, m] += gate[t, m] * value[t], in place.
struct EngramApplyArgs {
  const float* kv;           ///< [T, M + 1, D]: the keys of the streams, then the value
  const uint16_t* q_weight;  ///< BF16 [M, D]
  const uint16_t* k_weight;  ///< BF16 [M, D]
  int64_t num_tokens, num_streams, hidden_size;
  float eps;
  float* streams;  ///< [T, M, D]
};

/// One function pointer per op. `reference` fills every slot; other variants overlay theirs.
struct OpTable {
  void (*embed)(const OpContext&, const EmbedArgs&) = nullptr;
  void (*rms_norm)(const OpContext&, const RmsNormArgs&) = nullptr;
  void (*hc_mix)(const OpContext&, const HcMixArgs&) = nullptr;
  void (*hc_collapse)(const OpContext&, const HcCollapseArgs&) = nullptr;
  void (*hc_expand)(const OpContext&, const HcExpandArgs&) = nullptr;
  void (*linear)(const OpContext&, const LinearArgs&) = nullptr;
  void (*rope)(const OpContext&, const RopeArgs&) = nullptr;
  void (*scatter_rows)(const OpContext&, const ScatterRowsArgs&) = nullptr;
  void (*gather_rows)(const OpContext&, const GatherRowsArgs&) = nullptr;
  void (*compress_pool)(const OpContext&, const CompressPoolArgs&) = nullptr;
  void (*index_scores)(const OpContext&, const IndexScoresArgs&) = nullptr;
  void (*candidate_blocks)(const OpContext&, const CandidateBlocksArgs&) = nullptr;
  void (*select_top_k)(const OpContext&, const SelectTopKArgs&) = nullptr;
  void (*sparse_attention)(const OpContext&, const SparseAttentionArgs&) = nullptr;
  void (*moe_gate)(const OpContext&, const MoeGateArgs&) = nullptr;
  void (*swiglu)(const OpContext&, const SwigluArgs&) = nullptr;
  void (*moe_combine)(const OpContext&, const MoeCombineArgs&) = nullptr;
  void (*engram_gather)(const OpContext&, const EngramGatherArgs&) = nullptr;
  void (*engram_apply)(const OpContext&, const EngramApplyArgs&) = nullptr;
};

}  // namespace deepinfer::kernels
