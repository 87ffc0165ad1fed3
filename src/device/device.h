#pragma once

/// Memory, copies and kernels of one CPU share or one GPU. A rank owns exactly one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "deepinfer/status.h"
#include "kernels/ops.h"
#include "kernels/select.h"

namespace deepinfer::device {

class Device;

/// Device memory, 64-byte aligned, freed on destruction. Must not outlive its device.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device* device, void* data, size_t bytes) : device_(device), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// One device. Used by its rank's thread only.
class Device {
 public:
  virtual ~Device() = default;

  /// "cpu (avx512, 8 threads)".
  virtual std::string description() const = 0;
  /// Zeroed memory. kResourceExhausted names the size when there is not enough.
  virtual Result<Buffer> allocate(size_t bytes) = 0;
  /// Copies between host and device memory in stream order.
  virtual Status copy_async(void* dst, const void* src, size_t bytes) = 0;
  /// Waits for everything enqueued so far.
  virtual Status synchronize() = 0;
  /// Bytes that can still be allocated without hurting others; an estimate.
  virtual int64_t available_bytes() const = 0;

  const kernels::OpTable& ops() const { return selected_.ops; }
  const kernels::SelectedOps& selected_ops() const { return selected_; }
  virtual const kernels::OpContext& context() const = 0;

 protected:
  explicit Device(kernels::SelectedOps selected) : selected_(std::move(selected)) {}
  friend class Buffer;
  virtual void release(void* data, size_t bytes) = 0;

 private:
  kernels::SelectedOps selected_;
};

/// The CPU with a kernel pool of `num_threads` threads, the caller included (0 = the CPUs this
/// process may use). `variant` as in `select_cpu_ops`. kResourceExhausted if the system gives
/// fewer threads.
Result<std::unique_ptr<Device>> make_cpu_device(std::string_view variant, int32_t num_threads);

}  // namespace deepinfer::device
