#include "base/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <stdexcept>

namespace deepinfer::base {
namespace {

TEST(NamedThread, CarriesItsNameAndIsJoinedOnDestruction) {
  std::atomic<bool> done{false};
  std::array<char, 16> name{};
  {
    const NamedThread thread("a-rather-long-thread-name", [&] {
      pthread_getname_np(pthread_self(), name.data(), name.size());
      done = true;
    });
  }
  EXPECT_TRUE(done);
  EXPECT_STREQ(name.data(), "a-rather-long-t");
}

TEST(NamedThread, JoinsTheOldThreadWhenReplaced) {
  std::atomic<int> done{0};
  NamedThread thread("first", [&] { ++done; });
  thread = NamedThread("second", [&] { ++done; });
  EXPECT_GE(done, 1);
  thread.join();
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(thread.joinable());
  thread.join();  // once more is harmless
}

TEST(NamedThreadDeathTest, EndsTheProcessWhenAnExceptionLeavesIt) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        NamedThread thread("broken", [] { throw std::runtime_error("lost"); });
        thread.join();
      },
      "thread broken: uncaught exception: lost");
}

TEST(UsableCpus, IsAtLeastOne) {
  EXPECT_GE(usable_cpus(), 1);
}

}  // namespace
}  // namespace deepinfer::base
