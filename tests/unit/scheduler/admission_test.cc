#include "scheduler/admission.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace deepinfer::scheduler {
namespace {

using namespace std::chrono_literals;

SchedulerConfig limits(int32_t queued_reqs, int64_t queued_tokens) {
  SchedulerConfig config;
  config.max_num_queued_reqs = queued_reqs;
  config.max_num_queued_tokens = queued_tokens;
  return config;
}

TEST(Admission, RefusesBeyondRunningAndQueue) {
  Admission admission(limits(4, 1000), 2);
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(admission.admit(1).is_ok()) << i;
  }
  const Status refused = admission.admit(1);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.reason(), "server_overloaded");
  admission.leave_queue(1);  // it runs now, which frees nothing
  EXPECT_FALSE(admission.admit(1).is_ok());
  admission.release();
  EXPECT_TRUE(admission.admit(1).is_ok());
}

TEST(Admission, O02_LimitsThePromptTokensThatWait) {
  Admission admission(limits(100, 50), 2);
  EXPECT_TRUE(admission.admit(70).is_ok());  // longer than the limit, but alone
  const Status refused = admission.admit(1);
  EXPECT_EQ(refused.reason(), "server_overloaded");
  admission.leave_queue(70);
  EXPECT_TRUE(admission.admit(30).is_ok());
  EXPECT_TRUE(admission.admit(20).is_ok());
  EXPECT_FALSE(admission.admit(1).is_ok());
  EXPECT_EQ(admission.num_open(), 3);
  EXPECT_EQ(admission.num_queued(), 2);
  EXPECT_EQ(admission.num_queued_tokens(), 50);
}

TEST(Admission, RefusesEverythingOnceClosed) {
  Admission admission(limits(4, 50), 2);
  admission.close();
  EXPECT_EQ(admission.admit(1).code(), StatusCode::kUnavailable);
}

TEST(Admission, WaitsUntilTheLastRequestIsGone) {
  Admission admission(limits(4, 50), 2);
  EXPECT_TRUE(admission.wait_until_empty(base::TimePoint{}));
  ASSERT_TRUE(admission.admit(1).is_ok());
  EXPECT_FALSE(admission.wait_until_empty(std::chrono::steady_clock::now()));
  std::thread engine([&] { admission.release(); });
  EXPECT_TRUE(admission.wait_until_empty(base::TimePoint::max()));
  engine.join();
}

}  // namespace
}  // namespace deepinfer::scheduler
