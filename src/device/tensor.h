#pragma once

/// Owning float32 or integer arrays on a device.

#include <cstdint>

#include "base/check.h"
#include "device/device.h"

namespace deepinfer::device {

/// A dense array of `T` on a device: owning, move-only. Grows on demand and never shrinks, so
/// a step's work space is allocated once.
template <typename T>
class Tensor {
 public:
  Tensor() = default;

  /// An array of `count` zeros.
  static Result<Tensor> zeros(Device& device, int64_t count) {
    Tensor tensor;
    DI_TRY(tensor.ensure(device, count));
    return tensor;
  }

  /// At least `count` elements; existing contents are lost when it has to grow.
  Status ensure(Device& device, int64_t count) {
    DI_CHECK(count >= 0);
    if (count <= count_) {
      return Status::ok();
    }
    buffer_ = Buffer();
    count_ = 0;
    DI_ASSIGN(buffer_, device.allocate(static_cast<size_t>(count) * sizeof(T)));
    count_ = count;
    return Status::ok();
  }

  T* data() const { return static_cast<T*>(buffer_.data()); }
  int64_t count() const { return count_; }
  int64_t bytes() const { return count_ * static_cast<int64_t>(sizeof(T)); }

 private:
  Buffer buffer_;
  int64_t count_ = 0;
};

}  // namespace deepinfer::device
