#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "device/device.h"
#include "device/tensor.h"

namespace deepinfer::device {
namespace {

using testing::HasSubstr;

std::unique_ptr<Device> make_device(int32_t threads = 2) {
  auto device = make_cpu_device("", threads);
  EXPECT_TRUE(device) << device.error().message();
  return std::move(device).value();
}

TEST(CpuDevice, AllocatesAlignedZeroedMemory) {
  const auto device = make_device();
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{4096}, (size_t{1} << 20) - 1,
                             size_t{1} << 20, (size_t{3} << 20) + 5}) {
    for (int round = 0; round < 2; ++round) {
      auto buffer = device->allocate(bytes);
      ASSERT_TRUE(buffer) << buffer.error().message();
      auto* data = static_cast<uint8_t*>(buffer->data());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      EXPECT_EQ(buffer->bytes(), bytes);
      for (size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(data[i], 0) << "byte " << i << " of " << bytes;
        data[i] = 0xAB;
      }
    }
  }
}

TEST(CpuDevice, AllocatesNothingForZeroBytes) {
  const auto device = make_device();
  const auto buffer = device->allocate(0);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->bytes(), 0u);
}

TEST(CpuDevice, NamesTheSizeWhenMemoryIsShort) {
  const auto device = make_device();
  const size_t bytes = size_t{1} << 60;
  const auto buffer = device->allocate(bytes);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(buffer.error().message(), HasSubstr(std::to_string(bytes)));
}

// In a process of its own: address space for some of the threads only.
TEST(CpuDeviceDeathTest, SaysSoWhenTheSystemGivesTooFewThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than this test leaves";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto start_with_little_space = [] {
    const rlimit space = {.rlim_cur = rlim_t{1} << 30, .rlim_max = rlim_t{1} << 30};
    setrlimit(RLIMIT_AS, &space);
    const auto device = make_cpu_device("", 1000);
    std::fputs(device ? "started" : device.error().message().c_str(), stderr);
    std::_Exit(device ? 1 : 0);
  };
  EXPECT_EXIT(start_with_little_space(), testing::ExitedWithCode(0),
              "cannot start 1000 kernel threads");
}

TEST(CpuDevice, ReportsAvailableMemory) {
  const auto device = make_device();
  EXPECT_GT(device->available_bytes(), 0);
  EXPECT_LT(device->available_bytes(), int64_t{1} << 50);
}

TEST(CpuDevice, CopiesAndSynchronizes) {
  const auto device = make_device();
  auto buffer = device->allocate(8);
  ASSERT_TRUE(buffer);
  const uint64_t value = 0x0123456789ABCDEF;
  ASSERT_TRUE(device->copy_async(buffer->data(), &value, 8).is_ok());
  ASSERT_TRUE(device->copy_async(nullptr, nullptr, 0).is_ok());
  ASSERT_TRUE(device->synchronize().is_ok());
  EXPECT_EQ(*static_cast<uint64_t*>(buffer->data()), value);
}

TEST(CpuDevice, DescribesVariantAndThreads) {
  const auto device = make_cpu_device("reference", 1);
  ASSERT_TRUE(device);
  EXPECT_EQ((*device)->description(), "cpu (reference, 1 thread)");
  EXPECT_EQ((*device)->selected_ops().variant, "reference");
  EXPECT_THAT(make_device(3)->description(), HasSubstr("3 threads"));
}

TEST(CpuDevice, UsesAllCpusByDefault) {
  EXPECT_THAT(make_device(0)->description(), HasSubstr(std::to_string(base::usable_cpus())));
}

TEST(CpuDevice, RefusesUnknownVariantsAndThreadCounts) {
  EXPECT_EQ(make_cpu_device("sse9", 1).status().code(), StatusCode::kInvalidArgument);
  const auto negative = make_cpu_device("", -1);
  EXPECT_EQ(negative.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(negative.error().message(), HasSubstr("-1"));
  EXPECT_FALSE(make_cpu_device("", 100000));
}

TEST(CpuDevice, RunsOpsOnItsThreads) {
  const auto device = make_device(3);
  const std::vector<int64_t> indices = {2, 0, 1};
  const std::vector<float> src = {1, 2, 3};
  std::vector<float> dst(3);
  device->ops().scatter_rows(device->context(), {src.data(), 1, indices.data(), 3, 1, dst.data()});
  EXPECT_EQ(dst, (std::vector<float>{2, 3, 1}));
}

TEST(Buffer, MovesLeaveNothingBehind) {
  const auto device = make_device();
  auto first = device->allocate(100);
  auto second = device->allocate(200);
  ASSERT_TRUE(first && second);
  void* data = second->data();
  Buffer moved = std::move(*first);
  EXPECT_EQ(moved.bytes(), 100u);
  moved = std::move(*second);
  EXPECT_EQ(moved.data(), data);
  moved = Buffer();
  EXPECT_EQ(moved.data(), nullptr);
}

TEST(Tensor, GrowsAndNeverShrinks) {
  const auto device = make_device();
  auto tensor = Tensor<float>::zeros(*device, 10);
  ASSERT_TRUE(tensor);
  const float* data = tensor->data();
  ASSERT_TRUE(tensor->ensure(*device, 4).is_ok());
  EXPECT_EQ(tensor->data(), data);
  EXPECT_EQ(tensor->count(), 10);
  ASSERT_TRUE(tensor->ensure(*device, 1000).is_ok());
  EXPECT_EQ(tensor->count(), 1000);
  EXPECT_EQ(tensor->bytes(), 4000);
  EXPECT_EQ(tensor->data()[999], 0.0f);
  EXPECT_FALSE(tensor->ensure(*device, std::numeric_limits<int64_t>::max() / 8).is_ok());
  EXPECT_EQ(tensor->count(), 0) << "the old array is gone";
}

}  // namespace
}  // namespace deepinfer::device
