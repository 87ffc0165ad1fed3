#include "device/memory_info.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace deepinfer::device {
namespace {

/// A folder that looks like /proc and /sys/fs/cgroup.
class MemoryInfo : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("deepinfer-memory-info-" + std::to_string(getpid()));
    std::filesystem::create_directories(root_ / "memory");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(root_ / name) << text;
  }
  int64_t available() const { return available_memory_bytes(root_.string(), root_.string()); }

  std::filesystem::path root_;
};

constexpr const char* kMeminfo =
    "MemTotal:       1000 kB\nMemFree:         10 kB\nMemAvailable:    600 kB\nBuffers: 1 kB\n";

TEST_F(MemoryInfo, ReadsMemAvailable) {
  write("meminfo", kMeminfo);
  EXPECT_EQ(available(), 600 * 1024);
}

TEST_F(MemoryInfo, IsZeroWhenTheSystemSaysNothing) {
  EXPECT_EQ(available(), 0);
}

TEST_F(MemoryInfo, HonoursTheCgroupLimit) {
  write("meminfo", kMeminfo);
  write("memory.max", "500000\n");
  write("memory.current", "400000\n");
  EXPECT_EQ(available(), 100000);
  write("memory.current", "600000\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(MemoryInfo, DoesNotCountPageCacheAsUsed) {
  write("meminfo", kMeminfo);
  write("memory.max", "500000\n");
  write("memory.current", "400000\n");
  write("memory.stat", "anon 5\nactive_file 20000\nfile 9\ninactive_file 30000\n");
  EXPECT_EQ(available(), 150000);
}

TEST_F(MemoryInfo, IgnoresAnUnlimitedCgroup) {
  write("meminfo", kMeminfo);
  write("memory.max", "max\n");
  write("memory.current", "400000\n");
  EXPECT_EQ(available(), 600 * 1024);
}

TEST_F(MemoryInfo, ReadsVersionOneCgroups) {
  write("meminfo", kMeminfo);
  write("memory/memory.limit_in_bytes", "300000\n");
  write("memory/memory.usage_in_bytes", "250000\n");
  write("memory/memory.stat", "cache 7\ntotal_inactive_file 1000\ntotal_active_file 500\n");
  EXPECT_EQ(available(), 51500);
}

}  // namespace
}  // namespace deepinfer::device
