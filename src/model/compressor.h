#pragma once

/// Compressed entries and index keys of a kv-source layer (model spec §4.5). Private to this
/// module.

#include <cstdint>
#include <string>

#include "model/graph.h"
#include "model/kv_cache.h"
#include "model/step_plan.h"
#include "model/weights.h"

namespace deepinfer::model {

struct CompressorWeights {
  kernels::WeightView wkv;
  /// Ratio 2 only.
  kernels::WeightView wgate;
  const uint16_t* norm = nullptr;
  kernels::WeightView index_wk;
  const uint16_t* index_norm = nullptr;
};

/// `attention`: `layers.2.attn`.
CompressorWeights load_compressor(WeightLoader& loader, const std::string& attention,
                                  int32_t ratio);

/// Turns a step's rows into cache entries; holds the work space.
class Compressor {
 public:
  /// `inv_freq`: the compressed layers' frequencies.
  Compressor(const Graph& graph, const float* inv_freq) : graph_(graph), inv_freq_(inv_freq) {}

  /// Stores every entry that the step completes, and the rows of groups still open. `x` [T, D]
  /// is the layer's normalised attention input.
  Status run(const CompressorWeights& weights, int32_t layer, const float* x, const StepPlan& plan,
             KvCache& cache);

 private:
  Status ensure(const RatioPlan& entries, int32_t ratio, int64_t num_tokens);
  /// Un-pooled rows of ratio-2 groups -> `latent_`.
  void pool(const CompressorWeights& weights, int32_t layer, const float* x, const StepPlan& plan,
            KvCache& cache);
  /// Completed groups' rows in order: this step's in `rows`, older ones from `ring`.
  void gather_groups(const RatioPlan& entries, int64_t num_tokens, const float* ring, float* rows,
                     float* groups);
  void store(const RatioPlan& entries, const float* src, int64_t width, float* dst);

  const Graph& graph_;
  const float* inv_freq_;
  /// [T + open rows, C]: the step's rows, then those taken from the ring.
  device::Tensor<float> values_, gates_;
  /// [entries, ratio, C]
  device::Tensor<float> value_groups_, gate_groups_;
  device::Tensor<float> latent_;     // [entries, C]
  device::Tensor<float> index_key_;  // [entries, I]
};

}  // namespace deepinfer::model
