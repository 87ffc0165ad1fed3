// Several ranks in lockstep. One rank alone is tested through the dispatcher.

#include "scheduler/rank_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "unit/scheduler/scheduler_harness.h"

namespace deepinfer::scheduler {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

const engine::ExecutorCapacity kCapacity = support::small_capacity(64, 4, 4, 200);

// `size` ranks with an admission of their own each.
class RankGroup {
 public:
  explicit RankGroup(int32_t size)
      : fail_(static_cast<size_t>(size)), blocked_(static_cast<size_t>(size)) {
    SchedulerConfig config;
    config.max_num_seqs = 4;
    config.max_num_batched_tokens = 32;
    for (auto& communicator : comm::make_thread_communicators(size)) {
      const size_t rank = ranks_.size();
      admissions_.push_back(std::make_unique<Admission>(config, 4));
      ranks_.push_back(
          std::make_unique<RankLoop>(config, std::move(communicator), *admissions_.back(), clock_));
      const auto started = ranks_.back()->start([this, rank] { return make_executor(rank); });
      EXPECT_TRUE(started.has_value());
    }
  }
  ~RankGroup() {
    for (auto& rank : ranks_) {
      rank->inbox()->close();
    }
  }

  RankLoop& rank(size_t index) { return *ranks_[index]; }
  void fail(size_t index) { fail_[index] = true; }
  // Holds the rank's steps back.
  void block(size_t index) { blocked_[index] = true; }
  void unblock(size_t index) {
    blocked_[index] = false;
    blocked_[index].notify_all();
  }

  std::shared_ptr<base::OutputQueue> submit(size_t index, GenerateRequest request) {
    auto output = std::make_shared<base::OutputQueue>();
    EXPECT_TRUE(admissions_[index]->admit(static_cast<int64_t>(request.prompt.size())).is_ok());
    push(index, SubmitCommand{.id = ++last_id_,
                              .request = std::move(request),
                              .seed = 0,
                              .submitted = clock_.now(),
                              .output = output});
    for (size_t other = 0; other < ranks_.size(); ++other) {
      if (other != index) {
        push(other, WakeCommand{});
      }
    }
    return output;
  }

  void push(size_t index, RankCommand command) {
    EXPECT_TRUE(ranks_[index]->inbox()->try_push(std::move(command)));
  }

 private:
  Result<std::unique_ptr<engine::Executor>> make_executor(size_t rank) {
    auto executor = std::make_unique<support::FakeExecutor>(kCapacity);
    executor->before_step = [this, rank](const engine::Batch&) {
      blocked_[rank].wait(true);
      return fail_[rank] ? internal_error("scripted fault") : Status::ok();
    };
    return std::unique_ptr<engine::Executor>(std::move(executor));
  }

  support::ManualClock clock_;
  std::vector<std::atomic<bool>> fail_;
  std::vector<std::atomic<bool>> blocked_;
  std::vector<std::unique_ptr<Admission>> admissions_;
  std::vector<std::unique_ptr<RankLoop>> ranks_;
  SequenceId last_id_ = 0;
};

Collected drain(base::OutputQueue& queue) {
  Collected got;
  for (;;) {
    StreamEvent event = queue.wait_for(1h);
    if (std::holds_alternative<StreamEnd>(event)) {
      return got;
    }
    const TokenOutput output = std::get<TokenOutput>(std::move(event));
    got.tokens.insert(got.tokens.end(), output.tokens.begin(), output.tokens.end());
    got.last = output;
  }
}

TEST(RankLoop, E01_IdleRanksTakePartInEveryStep) {
  RankGroup group(3);
  const GenerateRequest request = make_request(make_prompt(9, 1), 12);
  for (size_t round = 0; round < 20; ++round) {
    const auto output = group.submit(round % 2, request);
    EXPECT_EQ(drain(*output).tokens, expected_tokens(request, 0, kCapacity));
  }
  // Peers may still be leaving the last step; one more event brings all to the same count.
  const auto last = group.submit(2, make_request({1}, 1));
  drain(*last);
  EXPECT_GE(group.rank(0).metrics().steps.value(), 20U * 12);
  EXPECT_GE(group.rank(1).metrics().steps.value(), 20U * 12);
  EXPECT_EQ(group.rank(2).metrics().steps.value(), 20U * 12 + 1);
}

TEST(RankLoop, ACancelledRequestIsGoneAfterTheStepUnderWay) {
  RankGroup group(1);
  for (uint64_t cancels = 1; cancels <= 20; ++cancels) {
    group.block(0);
    const auto output = group.submit(0, make_request(make_prompt(5, 1), 100));
    while (group.rank(0).metrics().running.value() == 0) {  // until its first step is planned
      std::this_thread::yield();
    }
    output->abandon();
    group.push(0, CancelCommand{.id = static_cast<SequenceId>(cancels)});
    group.unblock(0);
    EXPECT_EQ(drain(*output).last.finish, FinishReason::kAbort);
    EXPECT_EQ(group.rank(0).metrics().abandoned_tokens.value(), cancels);
    EXPECT_EQ(group.rank(0).metrics().steps.value(), cancels);
  }
}

TEST(RankLoop, SurvivesCancelsAndWakesWithoutWork) {
  RankGroup group(2);
  for (int round = 0; round < 50; ++round) {
    group.push(0, CancelCommand{.id = 12345});
    const auto output = group.submit(1, make_request(make_prompt(5, round), 4));
    if (round % 3 == 0) {
      group.push(1, CancelCommand{.id = static_cast<SequenceId>(round + 1)});
    }
    EXPECT_TRUE(drain(*output).last.finish.has_value());
  }
}

TEST(RankLoop, AbortsEverythingWhenTold) {
  RankGroup group(1);
  std::vector<std::shared_ptr<base::OutputQueue>> outputs;
  group.block(0);
  for (int i = 0; i < 6; ++i) {  // four run, two wait
    outputs.push_back(group.submit(0, make_request(make_prompt(5, i), 190)));
  }
  group.push(0, AbortAllCommand{});
  group.unblock(0);
  for (const auto& output : outputs) {
    EXPECT_EQ(drain(*output).last.finish, FinishReason::kAbort);
  }
  EXPECT_EQ(group.rank(0).metrics().finished_abort.value(), 6U);
  EXPECT_EQ(group.rank(0).metrics().blocks_used.value(), 0);
}

TEST(RankLoop, FailsEveryRankWhenOneFails) {
  RankGroup group(2);
  const auto endless = group.submit(0, make_request(make_prompt(5, 1), 190));
  group.fail(1);
  const auto more = group.submit(1, make_request(make_prompt(5, 1), 190));
  EXPECT_EQ(drain(*more).last.finish, FinishReason::kError);
  const Collected got = drain(*endless);
  if (got.last.finish == FinishReason::kError) {  // else it was done before the fault
    EXPECT_THAT(group.rank(0).failure().message(), HasSubstr("rank 1"));
  }
  EXPECT_THAT(group.rank(1).failure().message(), HasSubstr("scripted fault"));
}

}  // namespace
}  // namespace deepinfer::scheduler
