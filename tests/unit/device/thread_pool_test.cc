#include "device/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace deepinfer::device {
namespace {

template <typename Fn>
void run(ThreadPool& pool, int64_t count, int64_t grain, Fn fn) {
  pool.run(
      count, grain,
      [](void* arg, int64_t begin, int64_t end) { (*static_cast<Fn*>(arg))(begin, end); }, &fn);
}

using Pieces = std::vector<std::pair<int64_t, int64_t>>;

Pieces pieces_of(ThreadPool& pool, int64_t count, int64_t grain) {
  std::mutex mutex;
  Pieces pieces;
  run(pool, count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

TEST(ThreadPool, CoversTheRangeExactlyOnce) {
  for (const int32_t threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const int64_t count : {1, 2, 7, 8, 9, 1000}) {
      int64_t next = 0;
      for (const auto& [begin, end] : pieces_of(pool, count, 1)) {
        EXPECT_EQ(begin, next);
        EXPECT_LT(begin, end);
        next = end;
      }
      EXPECT_EQ(next, count) << threads << " threads";
    }
  }
}

TEST(ThreadPool, CutsAsManyPiecesAsThreads) {
  ThreadPool pool(3);
  EXPECT_EQ(pieces_of(pool, 9, 1), (Pieces{{0, 3}, {3, 6}, {6, 9}}));
}

TEST(ThreadPool, GivesPiecesOfAtLeastOneGrain) {
  ThreadPool pool(4);
  EXPECT_EQ(pieces_of(pool, 10, 100).size(), 1u);
  EXPECT_EQ(pieces_of(pool, 10, 10).size(), 1u);
  EXPECT_EQ(pieces_of(pool, 10, 5).size(), 2u);
  EXPECT_EQ(pieces_of(pool, 10, 4).size(), 2u);
  EXPECT_EQ(pieces_of(pool, 10, 0).size(), 4u);
}

TEST(ThreadPool, DoesNothingForAnEmptyRange) {
  ThreadPool pool(2);
  EXPECT_TRUE(pieces_of(pool, 0, 1).empty());
  EXPECT_TRUE(pieces_of(pool, -5, 1).empty());
}

TEST(ThreadPool, RunsInTheCallingThreadWhenAlone) {
  ThreadPool pool(1);
  std::thread::id id;
  run(pool, 100, 1, [&](int64_t, int64_t) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ThreadPool, CallerTakesTheFirstPiece) {
  ThreadPool pool(4);
  std::atomic<bool> caller_had_first{false};
  const auto caller = std::this_thread::get_id();
  run(pool, 4, 1, [&](int64_t begin, int64_t) {
    if (begin == 0) {
      caller_had_first = std::this_thread::get_id() == caller;
    }
  });
  EXPECT_TRUE(caller_had_first);
}

// Plain writes of the workers are visible after run(), and those of the caller inside it.
TEST(ThreadPool, OrdersMemoryAroundEveryRun) {
  ThreadPool pool(3);
  std::vector<int64_t> data(64, 0);
  for (int64_t round = 1; round <= 3000; ++round) {
    // Every third round leaves a thread out.
    run(pool, round % 3 == 0 ? 2 : 64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ++data[static_cast<size_t>(i)];
      }
    });
    ASSERT_EQ(data[0], round);
    ASSERT_EQ(data[1], round);
    ASSERT_EQ(data[63], round - round / 3);
  }
}

TEST(ThreadPool, WakesThreadsThatWentToSleep) {
  // More threads than CPUs never spin, so every run finds them asleep.
  ThreadPool pool(std::min(ThreadPool::kMaxThreads, 4 * base::usable_cpus()));
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 200; ++round) {
    run(pool, 64, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  }
  EXPECT_EQ(sum, 200 * 64);
}

TEST(ThreadPool, CanBeDestroyedAtAnyMoment) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool pool(1 + round % 4);
    if (round % 2 == 0) {
      EXPECT_FALSE(pieces_of(pool, 16, 1).empty());
    }
  }
}

}  // namespace
}  // namespace deepinfer::device
