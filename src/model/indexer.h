#pragma once

/// Which compressed entries each query attends to (model spec §4.6). Private to this module.

#include <cstdint>
#include <string>
#include <vector>

#include "model/graph.h"
#include "model/kv_cache.h"
#include "model/step_plan.h"
#include "model/weights.h"

namespace deepinfer::model {

struct IndexerWeights {
  kernels::WeightView wq_b;
  kernels::WeightView weights_proj;
};

/// `attention`: `layers.2.attn`.
IndexerWeights load_indexer(WeightLoader& loader, const std::string& attention);

/// Scores and selects at index sources. The selection and the candidate pool stay for the
/// layers above, until the next index source or step.
class Indexer {
 public:
  Indexer(const Graph& graph, const float* inv_freq) : graph_(graph), inv_freq_(inv_freq) {}

  /// `x` [T, D] is the layer's normalised attention input, `low` [T, q_lora_rank] its
  /// normalised low-rank query. The entries of its kv source are stored already.
  Status run(const IndexerWeights& weights, int32_t layer, const float* x, const float* low,
             const StepPlan& plan, KvCache& cache);

  /// [T, index_topk], ascending; `count()[t]` of row t are valid.
  const int32_t* selected() const { return selected_.data(); }
  const int32_t* count() const { return count_.data(); }

 private:
  Status ensure(int64_t num_tokens, int64_t max_visible);
  Status select(int32_t layer, const StepPlan& plan, KvCache& cache);
  void score(int32_t layer, const StepTile& tile, const RatioPlan& entries, KvCache& cache);
  void choose(int32_t layer, const StepTile& tile, const RatioPlan& entries);
  Status report(int32_t layer, int64_t num_tokens) const;

  const Graph& graph_;
  const float* inv_freq_;
  int64_t scores_stride_ = 0;
  int64_t keep_stride_ = 0;
  std::vector<StepTile> tiles_;
  device::Tensor<float> queries_;       // [T, N, I]
  device::Tensor<float> head_weights_;  // [T, N]
  device::Tensor<float> scores_;        // [rows of a tile, scores_stride]
  device::Tensor<uint8_t> keep_;        // [T, keep_stride]
  device::Tensor<int32_t> selected_;
  device::Tensor<int32_t> count_;
};

}  // namespace deepinfer::model
