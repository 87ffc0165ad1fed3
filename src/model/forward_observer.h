#pragma once

/// A look into a forward pass, for tests and debugging. Off by default and then free.

#include <cstdint>
#include <span>

namespace deepinfer::model {

/// Receives intermediate results in host memory while `Model::forward` runs. The spans are
/// valid during the call only. T = tokens of the step, in the order of its rows.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;

  /// Chosen experts (best first) and their weights: [T, num_experts_per_tok].
  virtual void on_experts(int32_t layer, std::span<const int32_t> ids,
                          std::span<const float> weights) = 0;
  /// Entries selected at an index source, ascending: row t holds `counts[t]` of
  /// `selected[t * stride ..]`.
  virtual void on_selection(int32_t layer, std::span<const int32_t> selected, int64_t stride,
                            std::span<const int32_t> counts) = 0;
  /// Table rows at an Engram layer: [T, columns].
  virtual void on_engram_rows(int32_t layer, std::span<const int64_t> rows) = 0;
  /// The streams after a layer: [T, hc_mult, hidden_size].
  virtual void on_streams(int32_t layer, std::span<const float> streams) = 0;
};

}  // namespace deepinfer::model
