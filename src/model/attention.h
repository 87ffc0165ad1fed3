#pragma once

/// Attention over the sliding window and the selected compressed entries (model spec §4.4).
/// Private to this module.

#include <cstdint>
#include <string>

#include "model/compressor.h"
#include "model/graph.h"
#include "model/indexer.h"
#include "model/kv_cache.h"
#include "model/step_plan.h"
#include "model/weights.h"

namespace deepinfer::model {

struct AttentionWeights {
  kernels::WeightView wq_a, wq_b, wkv, wo_a, wo_b;
  const uint16_t* q_norm = nullptr;
  const uint16_t* kv_norm = nullptr;
  const float* sink = nullptr;
  CompressorWeights compressor;  ///< kv sources only
  IndexerWeights indexer;        ///< index sources only
};

AttentionWeights load_attention(WeightLoader& loader, const ModelConfig& config, int32_t layer);

/// The attention of every layer, one after the other; holds the work space and, through its
/// indexer, the selection that layers share.
class Attention {
 public:
  static Result<Attention> create(const Graph& graph);

  /// `x` [T, D], normalised, to `y` [T, D]. Stores the layer's keys of the step.
  Status run(const AttentionWeights& weights, int32_t layer, const float* x, const StepPlan& plan,
             KvCache& cache, float* y);

 private:
  Attention(const Graph& graph, StagedArray<float> plain, StagedArray<float> compressed);
  Status ensure(int64_t num_tokens);
  void project(const AttentionWeights& weights, const float* x, const StepPlan& plan,
               const float* inv_freq);
  void attend(const AttentionWeights& weights, int32_t layer, const StepPlan& plan, KvCache& cache);
  void project_output(const AttentionWeights& weights, int64_t num_tokens, float* y);

  const Graph& graph_;
  StagedArray<float> plain_freq_, compressed_freq_;
  Compressor compressor_;
  Indexer indexer_;
  device::Tensor<float> low_;      // [T, q_lora_rank]
  device::Tensor<float> queries_;  // [T, H, C]
  device::Tensor<float> keys_;     // [T, C]
  device::Tensor<float> out_;      // [T, H, C]
  device::Tensor<float> grouped_;  // [T, G * o_lora_rank]
};

}  // namespace deepinfer::model
