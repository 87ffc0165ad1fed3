#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "comm/communicator.h"

namespace deepinfer::comm {
namespace {

// Runs `body` once per rank, each on its own thread with its own end.
void on_all_ranks(int32_t size, const std::function<void(Communicator&)>& body) {
  auto ends = make_thread_communicators(size);
  std::vector<std::thread> threads;
  threads.reserve(ends.size());
  for (auto& end : ends) {
    threads.emplace_back([&body, &end] { body(*end); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
}

std::span<const std::byte> bytes_of(const std::vector<int64_t>& values) {
  return std::as_bytes(std::span(values));
}

class ThreadCommunicatorTest : public testing::TestWithParam<int32_t> {};

TEST_P(ThreadCommunicatorTest, ReducesInRankOrderOnEveryRank) {
  on_all_ranks(GetParam(), [](Communicator& comm) {
    // 1 added to 2^24 is lost in float32, so another order of summation shows.
    float expected = 16777216.0F;
    for (int32_t peer = 1; peer < comm.size(); ++peer) {
      expected += 1.0F;
    }
    for (int round = 0; round < 50; ++round) {
      std::vector<float> values = {comm.rank() == 0 ? 16777216.0F : 1.0F,
                                   static_cast<float>(comm.rank())};
      ASSERT_TRUE(comm.all_reduce(std::span<float>(values), ReduceOp::kSum).is_ok());
      EXPECT_EQ(values[0], expected);
      EXPECT_EQ(values[1], static_cast<float>(comm.size() * (comm.size() - 1) / 2));
    }
  });
}

TEST_P(ThreadCommunicatorTest, ReducesIntegersByMinimumAndMaximum) {
  on_all_ranks(GetParam(), [](Communicator& comm) {
    std::vector<int64_t> low = {comm.rank() + 5, -comm.rank()};
    std::vector<int64_t> high = low;
    ASSERT_TRUE(comm.all_reduce(std::span<int64_t>(low), ReduceOp::kMin).is_ok());
    ASSERT_TRUE(comm.all_reduce(std::span<int64_t>(high), ReduceOp::kMax).is_ok());
    EXPECT_EQ(low, (std::vector<int64_t>{5, -(comm.size() - 1)}));
    EXPECT_EQ(high, (std::vector<int64_t>{comm.size() + 4, 0}));
  });
}

TEST_P(ThreadCommunicatorTest, GathersInRankOrder) {
  on_all_ranks(GetParam(), [](Communicator& comm) {
    const std::vector<int64_t> sent = {comm.rank(), comm.rank() * 10};
    std::vector<int64_t> received(static_cast<size_t>(comm.size()) * 2);
    ASSERT_TRUE(
        comm.all_gather(bytes_of(sent), std::as_writable_bytes(std::span(received))).is_ok());
    for (int32_t peer = 0; peer < comm.size(); ++peer) {
      EXPECT_EQ(received[static_cast<size_t>(peer) * 2], peer);
      EXPECT_EQ(received[static_cast<size_t>(peer) * 2 + 1], peer * 10);
    }
  });
}

TEST_P(ThreadCommunicatorTest, SendsUnequalPartsToEachRank) {
  on_all_ranks(GetParam(), [](Communicator& comm) {
    // Rank s sends s + r values 100 * s + r to rank r; rank 0 sends itself nothing.
    const int64_t width = sizeof(int64_t);
    std::vector<int64_t> sent, send_bytes, recv_bytes, expected;
    for (int32_t peer = 0; peer < comm.size(); ++peer) {
      const auto count = static_cast<size_t>(comm.rank() + peer);
      sent.insert(sent.end(), count, 100 * comm.rank() + peer);
      send_bytes.push_back(static_cast<int64_t>(count) * width);
      recv_bytes.push_back(static_cast<int64_t>(count) * width);
      expected.insert(expected.end(), count, 100 * peer + comm.rank());
    }
    std::vector<int64_t> received(expected.size());
    ASSERT_TRUE(comm.all_to_all(bytes_of(sent), send_bytes,
                                std::as_writable_bytes(std::span(received)), recv_bytes)
                    .is_ok());
    EXPECT_EQ(received, expected);
  });
}

TEST_P(ThreadCommunicatorTest, BarrierHoldsEverybodyBack) {
  std::atomic<int32_t> arrived{0};
  on_all_ranks(GetParam(), [&](Communicator& comm) {
    for (int32_t round = 1; round <= 100; ++round) {
      ++arrived;
      ASSERT_TRUE(comm.barrier().is_ok());
      EXPECT_GE(arrived.load(), round * comm.size());
      ASSERT_TRUE(comm.barrier().is_ok());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadCommunicatorTest, testing::Values(1, 2, 3, 4));

TEST(ThreadCommunicator, FailsPendingAndLaterCallsWhenAnEndIsDestroyed) {
  auto ends = make_thread_communicators(3);
  std::thread waiting([&] {
    std::vector<float> values = {1.0F};
    const Status pending = ends[0]->all_reduce(std::span<float>(values), ReduceOp::kSum);
    EXPECT_EQ(pending.code(), StatusCode::kUnavailable);
    EXPECT_NE(pending.message().find("rank 2"), std::string::npos) << pending.message();
    EXPECT_EQ(ends[0]->barrier().code(), StatusCode::kUnavailable);
  });
  ends[2].reset();
  waiting.join();
  EXPECT_EQ(ends[1]->barrier().code(), StatusCode::kUnavailable);
}

TEST(ThreadCommunicator, ReportsRanksThatAreOutOfStep) {
  on_all_ranks(2, [](Communicator& comm) {
    std::vector<float> values(comm.rank() == 0 ? 1 : 2, 0.0F);
    EXPECT_EQ(comm.all_reduce(std::span<float>(values), ReduceOp::kSum).code(),
              StatusCode::kInternal);
  });
  on_all_ranks(2, [](Communicator& comm) {
    std::vector<int64_t> values(1);
    const Status status = comm.rank() == 0
                              ? comm.barrier()
                              : comm.all_reduce(std::span<int64_t>(values), ReduceOp::kMax);
    EXPECT_EQ(status.code(), StatusCode::kInternal);
  });
}

TEST(ThreadCommunicator, ReportsPartsOfUnexpectedSize) {
  on_all_ranks(2, [](Communicator& comm) {
    // Rank 0 expects 8 bytes of rank 1, which sends none.
    const std::vector<int64_t> nothing = {0, 0};
    const std::vector<int64_t> expects = {0, comm.rank() == 0 ? 8 : 0};
    std::vector<std::byte> received(comm.rank() == 0 ? 8 : 0);
    const Status status = comm.all_to_all({}, nothing, received, expects);
    EXPECT_EQ(status.is_ok(), comm.rank() == 1);
  });
}

}  // namespace
}  // namespace deepinfer::comm
