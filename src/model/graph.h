#pragma once

/// What every block of the layer graph works with. Private to this module.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/device.h"
#include "device/tensor.h"
#include "model/forward_observer.h"
#include "model/model_config.h"

namespace deepinfer::model {

/// The model's facts and the device its ops run on.
struct Graph {
  const ModelConfig& config;
  device::Device& device;
  /// Null unless somebody watches.
  ForwardObserver* observer = nullptr;

  const kernels::OpTable& ops() const { return device.ops(); }
  const kernels::OpContext& context() const { return device.context(); }

  /// One linear layer over dense rows.
  void linear(const float* x, int64_t num_tokens, const kernels::WeightView& weight,
              float* out) const;
  /// Several as one parallel region.
  void linear(const std::vector<kernels::LinearProblem>& problems) const;
  /// RMS norm of dense rows in place, with the model's epsilon.
  void rms_norm(float* x, int64_t num_rows, int64_t width, const uint16_t* weight) const;
  /// Rotates dense rows of `num_heads` heads in place.
  void rope(float* x, int64_t num_rows, int64_t num_heads, int64_t head_dim,
            const int32_t* positions, const float* inv_freq, bool inverse) const;
  /// Copies device values to host memory and waits for them.
  template <typename T>
  Status download(std::vector<T>& host, const T* data, int64_t count) const {
    host.resize(static_cast<size_t>(count));
    DI_TRY(device.copy_async(host.data(), data, static_cast<size_t>(count) * sizeof(T)));
    return device.synchronize();
  }
};

/// A dense problem for `Graph::linear`.
kernels::LinearProblem dense_problem(const float* x, int64_t num_tokens,
                                     const kernels::WeightView& weight, float* out);

/// A host array and its copy on the device.
template <typename T>
class StagedArray {
 public:
  std::vector<T> host;

  /// Makes room for `room` elements or as many as there are. With a room that grows with the
  /// step's tokens and sequences, the largest step allocates for all others.
  Status upload(device::Device& device, int64_t room = 0) {
    const auto count = static_cast<int64_t>(host.size());
    DI_TRY(tensor_.ensure(device, std::max(count, room)));
    return count == 0 ? Status::ok()
                      : device.copy_async(tensor_.data(), host.data(), host.size() * sizeof(T));
  }
  const T* data() const { return tensor_.data(); }
  int64_t size() const { return static_cast<int64_t>(host.size()); }

 private:
  device::Tensor<T> tensor_;
};

/// Rows to allocate for `needed`, so that work space grows in few steps.
constexpr int64_t round_up_rows(int64_t needed) {
  return (needed + 63) / 64 * 64;
}

}  // namespace deepinfer::model
