#pragma once

/// Mixture of experts (model spec §4.8). Private to this module.

#include <cstdint>
#include <vector>

#include "model/graph.h"
#include "model/weights.h"

namespace deepinfer::model {

/// w1 is the gate branch, w3 the up branch.
struct ExpertWeights {
  kernels::WeightView w1, w3, w2;
};

struct MoeWeights {
  const uint16_t* gate = nullptr;
  const float* bias = nullptr;
  std::vector<ExpertWeights> experts;
  ExpertWeights shared;
};

MoeWeights load_moe(WeightLoader& loader, const ModelConfig& config, int32_t layer);

/// Routes tokens, runs the chosen experts and the shared one, and adds them up. Holds the work
/// space.
class Moe {
 public:
  explicit Moe(const Graph& graph) : graph_(graph) {}

  /// `x` [T, D], normalised, to `y` [T, D].
  Status run(const MoeWeights& weights, int32_t layer, const float* x, int64_t num_tokens,
             float* y);

 private:
  Status ensure(int64_t num_tokens);
  Status route(const MoeWeights& weights, const float* x, int64_t num_tokens);
  /// Sorts the (token, choice) pairs by expert.
  Status group(int64_t num_tokens);
  void run_experts(const MoeWeights& weights, const float* x, int64_t num_tokens);
  void combine(int64_t num_tokens, float* y);

  const Graph& graph_;
  device::Tensor<int32_t> ids_;         // [T, k]
  device::Tensor<float> gate_weights_;  // [T, k]
  std::vector<int32_t> host_ids_;
  std::vector<float> host_weights_;
  /// First grouped row of each expert, and the end. [experts + 1]
  std::vector<int64_t> expert_begin_;
  StagedArray<int64_t> token_of_row_;  // [T * k]
  StagedArray<int64_t> row_of_;        // [T, k]
  StagedArray<float> row_weights_;     // [T * k + T]: routed rows, then 1 for the shared expert
  device::Tensor<float> inputs_;       // [T * k, D]
  device::Tensor<float> gate_, up_;    // [T * k + T, F]
  device::Tensor<float> outputs_;      // [T * k + T, D]
};

}  // namespace deepinfer::model
