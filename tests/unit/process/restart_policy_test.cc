#include "process/restart_policy.h"

#include <gtest/gtest.h>

namespace deepinfer::process {
namespace {

using namespace std::chrono_literals;

TEST(RestartPolicy, WaitsLongerEachTimeAndThenGivesUp) {
  RestartPolicy policy(3);
  const base::TimePoint now{};
  EXPECT_EQ(policy.after_death(now), 100ms);
  EXPECT_EQ(policy.after_death(now), 200ms);
  EXPECT_EQ(policy.after_death(now), 400ms);
  EXPECT_EQ(policy.after_death(now), std::nullopt);
}

TEST(RestartPolicy, ForgetsDeathsAfterTenMinutes) {
  RestartPolicy policy(2);
  const base::TimePoint now{};
  EXPECT_TRUE(policy.after_death(now).has_value());
  EXPECT_TRUE(policy.after_death(now + 9min).has_value());
  EXPECT_FALSE(policy.after_death(now + 9min).has_value());
  EXPECT_TRUE(policy.after_death(now + 10min).has_value());
  EXPECT_EQ(policy.num_recent(), 2);
}

TEST(RestartPolicy, NeverWaitsLongerThanTwoSeconds) {
  RestartPolicy policy(1000);
  std::chrono::milliseconds delay{0};
  for (int i = 0; i < 500; ++i) {
    delay = *policy.after_death(base::TimePoint{});
  }
  EXPECT_EQ(delay, 2s);
}

TEST(RestartPolicy, ZeroMeansNever) {
  RestartPolicy policy(0);
  EXPECT_EQ(policy.after_death(base::TimePoint{}), std::nullopt);
}

}  // namespace
}  // namespace deepinfer::process
