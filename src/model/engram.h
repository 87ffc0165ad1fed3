#pragma once

/// Engram: gated values from n-gram tables (model spec §4.7, §5). Private to this module.

#include <cstdint>
#include <vector>

#include "model/engram_hash.h"
#include "model/graph.h"
#include "model/kv_cache.h"
#include "model/step_plan.h"
#include "model/weights.h"

namespace deepinfer::model {

struct EngramWeights {
  kernels::WeightView table;
  kernels::WeightView wkv;
  const uint16_t* q_weight = nullptr;
  const uint16_t* k_weight = nullptr;
};

EngramWeights load_engram(WeightLoader& loader, const ModelConfig& config, int32_t layer);

/// The Engram layers of a model: addresses computed on the host at the start of a step, then
/// gathered and applied layer by layer.
class Engram {
 public:
  Engram(const Graph& graph, EngramHash hash) : graph_(graph), hash_(std::move(hash)) {}

  /// Row numbers of the step's tokens for every Engram layer; remembers the newest tokens of
  /// each sequence in `cache` for the next step.
  Status prepare(const std::vector<TokenId>& tokens, const StepPlan& plan, KvCache& cache);

  /// Adds the gated values of `layer` to `streams` [T, M, D].
  Status run(const EngramWeights& weights, int32_t layer, int64_t num_tokens, float* streams);

 private:
  void hash_sequence(const std::vector<TokenId>& tokens, const kernels::SequenceView& sequence,
                     KvCache& cache);

  const Graph& graph_;
  EngramHash hash_;
  std::vector<int32_t> ids_;                // compressed, one sequence with its look-back
  std::vector<StagedArray<int64_t>> rows_;  // by Engram layer: [T, columns]
  device::Tensor<float> values_;            // [T, columns * dim]
  device::Tensor<float> kv_;                // [T, M + 1, D]
};

}  // namespace deepinfer::model
