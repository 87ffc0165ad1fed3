#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/thread.h"
#include "device/device.h"
#include "device/memory_info.h"
#include "device/thread_pool.h"

namespace deepinfer::device {
namespace {

constexpr size_t kAlignment = 64;
// From here on memory comes in whole pages straight from the system.
constexpr size_t kMappedBytes = size_t{1} << 20;

/// Pages that exist: with lazily backed memory a shortage would show up as a kill in the middle
/// of a step instead of as an error here.
void* map_zeroed(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return nullptr;
  }
  // Advice only: without huge pages everything works, with more TLB misses.
  (void)madvise(data, bytes, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
  return data;
}

void* allocate_zeroed(size_t bytes) {
  if (bytes >= kMappedBytes) {
    return map_zeroed(bytes);
  }
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data != nullptr) {
    std::memset(data, 0, rounded);
  }
  return data;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(kernels::SelectedOps selected, int32_t num_threads)
      : Device(std::move(selected)), pool_(num_threads) {
    context_.parallel_for = [](void* pool, int64_t count, int64_t grain,
                               kernels::OpContext::RangeFn fn, void* arg) {
      static_cast<ThreadPool*>(pool)->run(count, grain, fn, arg);
    };
    context_.pool = &pool_;
  }

  std::string description() const override {
    const int32_t threads = pool_.num_threads();
    return "cpu (" + std::string(selected_ops().variant) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread)" : " threads)");
  }

  Result<Buffer> allocate(size_t bytes) override {
    if (bytes == 0) {
      return Buffer();
    }
    const int64_t available = available_bytes();
    const bool fits = bytes < kMappedBytes || bytes <= static_cast<size_t>(available);
    void* data = fits ? allocate_zeroed(bytes) : nullptr;
    if (data == nullptr) {
      return resource_exhausted("cannot allocate " + std::to_string(bytes) +
                                " bytes of memory; about " + std::to_string(available) +
                                " bytes are available");
    }
    return Buffer(this, data, bytes);
  }

  Status copy_async(void* dst, const void* src, size_t bytes) override {
    if (bytes > 0) {
      std::memcpy(dst, src, bytes);
    }
    return Status::ok();
  }

  Status synchronize() override { return Status::ok(); }

  int64_t available_bytes() const override { return available_memory_bytes(); }

  const kernels::OpContext& context() const override { return context_; }

 protected:
  void release(void* data, size_t bytes) override {
    if (bytes >= kMappedBytes) {
      munmap(data, bytes);
    } else {
      std::free(data);
    }
  }

 private:
  ThreadPool pool_;
  kernels::OpContext context_;
};

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) {
    device_->release(data_, bytes_);
  }
}

Result<std::unique_ptr<Device>> make_cpu_device(std::string_view variant, int32_t num_threads) {
  if (num_threads < 0 || num_threads > ThreadPool::kMaxThreads) {
    return invalid_argument("number of kernel threads must be in [0, " +
                            std::to_string(ThreadPool::kMaxThreads) + "], got " +
                            std::to_string(num_threads));
  }
  DI_ASSIGN(kernels::SelectedOps selected, kernels::select_cpu_ops(variant));
  const int32_t threads = num_threads > 0 ? num_threads : base::usable_cpus();
  try {
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(std::move(selected), threads));
  } catch (const std::system_error& error) {
    return resource_exhausted("cannot start " + std::to_string(threads) +
                              " kernel threads (--num-threads): " + error.what());
  }
}

}  // namespace deepinfer::device
