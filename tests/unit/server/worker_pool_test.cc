#include "server/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <thread>

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;

base::TimePoint in(milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

TEST(WorkerPool, RunsEveryJobAndEndsWithThem) {
  std::atomic<int> ran{0};
  {
    WorkerPool pool({.max_jobs = 4, .reserve = 1});
    for (int i = 0; i < 1000; ++i) {
      pool.submit([&ran](bool) { ran.fetch_add(1); });
    }
  }
  EXPECT_EQ(ran.load(), 1000);
}

TEST(WorkerPool, RunsJobsBeyondTheLimitInShedMode) {
  WorkerPool pool({.max_jobs = 2, .reserve = 1});
  std::latch started(2);
  std::latch finish(1);
  for (int i = 0; i < 2; ++i) {
    pool.submit([&](bool shed) {
      EXPECT_FALSE(shed);
      started.count_down();
      finish.wait();
    });
  }
  started.wait();
  std::latch shed_seen(1);
  pool.submit([&](bool shed) {
    EXPECT_TRUE(shed);
    shed_seen.count_down();
  });
  shed_seen.wait();
  EXPECT_FALSE(pool.wait_idle(in(milliseconds(0))));
  finish.count_down();
  EXPECT_TRUE(pool.wait_idle(in(std::chrono::seconds(20))));
  std::atomic<bool> shed_again{true};
  pool.submit([&](bool shed) { shed_again = shed; });
  EXPECT_TRUE(pool.wait_idle(in(std::chrono::seconds(20))));
  EXPECT_FALSE(shed_again.load());
}

TEST(WorkerPool, StartsThreadsAgainAfterTheyEnded) {
  WorkerPool pool({.max_jobs = 4, .reserve = 1, .idle_timeout = milliseconds(1)});
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) {
    pool.submit([&ran](bool) { ran.fetch_add(1); });
    EXPECT_TRUE(pool.wait_idle(in(std::chrono::seconds(20))));
    std::this_thread::yield();
  }
  EXPECT_EQ(ran.load(), 20);
}

TEST(WorkerPool, SurvivesAJobThatThrows) {
  WorkerPool pool({.max_jobs = 1, .reserve = 1});
  pool.submit([](bool) { throw std::runtime_error("on purpose"); });
  std::atomic<bool> ran{false};
  pool.submit([&ran](bool) { ran = true; });
  EXPECT_TRUE(pool.wait_idle(in(std::chrono::seconds(20))));
  EXPECT_TRUE(ran.load());
}

}  // namespace
}  // namespace deepinfer::server
