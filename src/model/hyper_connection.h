#pragma once

/// Hyper-connections: the residual streams and the mixes in and out of them (model spec §4.2).
/// Private to this module.

#include <cstdint>
#include <string>

#include "model/graph.h"
#include "model/weights.h"

namespace deepinfer::model {

/// Mix weights of one sub-layer.
struct HyperConnectionWeights {
  const float* fn = nullptr;
  const float* base = nullptr;
  const float* scale = nullptr;
};

/// `name`: `layers.3.hc_attn`.
HyperConnectionWeights load_hyper_connection(WeightLoader& loader, const std::string& name);

/// The streams of a step and the mix that the next sub-layer will read them with: each
/// sub-layer's `post` and `comb` are used at once, its `pre` by its successor (§4.1).
class HyperConnection {
 public:
  explicit HyperConnection(const Graph& graph) : graph_(graph) {}

  /// Streams = the token's embedding, each; the first sub-layer reads stream 0.
  Status begin(const int32_t* ids, int64_t num_tokens, const uint16_t* table);

  /// Mixes for this sub-layer, and in `x` [T, D] what it reads.
  void enter(const HyperConnectionWeights& weights, float* x);
  /// Mixes the sub-layer's result `y` [T, D] into the streams.
  void leave(const float* y);
  /// What the head reads: `rows` of the streams, collapsed to [num_rows, D].
  Status collapse_rows(const int64_t* rows, int64_t num_rows, float* out);

  /// [T, M, D]
  float* streams() const { return streams_.data(); }

 private:
  const Graph& graph_;
  int64_t num_tokens_ = 0;
  device::Tensor<float> streams_, post_, comb_;
  /// The mix in force and the one being computed; they change places.
  device::Tensor<float> pre_, next_pre_;
  StagedArray<float> first_pre_;
  device::Tensor<float> gathered_streams_, gathered_pre_;
};

}  // namespace deepinfer::model
