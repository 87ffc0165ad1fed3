#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "unit/scheduler/scheduler_harness.h"

namespace deepinfer::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

SchedulerConfig config(int32_t max_num_seqs, int32_t max_num_batched_tokens,
                       int32_t prefill_chunk_tokens = 0) {
  SchedulerConfig result;
  result.max_num_seqs = max_num_seqs;
  result.max_num_batched_tokens = max_num_batched_tokens;
  result.prefill_chunk_tokens = prefill_chunk_tokens;
  return result;
}

const engine::ExecutorCapacity kRoomy = support::small_capacity(256, 4, 16, 512);

// (sequence, tokens) of a batch.
std::vector<std::pair<SequenceId, size_t>> parts(const engine::Batch& batch) {
  std::vector<std::pair<SequenceId, size_t>> result;
  for (const auto& sequence : batch.sequences) {
    result.emplace_back(sequence.id, sequence.tokens.size());
  }
  return result;
}

TEST(Scheduler, PlansNothingWithoutWork) {
  Harness h(config(4, 16), kRoomy);
  EXPECT_FALSE(h.scheduler.has_work());
  EXPECT_THAT(h.step().sequences, IsEmpty());
}

TEST(Scheduler, GeneratesWhatTheExecutorWouldWithoutScheduling) {
  for (const int32_t chunk : {0, 1, 7, 64}) {
    Harness h(config(4, 100, chunk), kRoomy);
    const GenerateRequest request = make_request(make_prompt(90, 3), 20);
    const SequenceId id = h.add(request);
    h.run();
    EXPECT_EQ(h.collected[id].tokens, expected_tokens(request, h.seed_of(id), kRoomy));
    EXPECT_EQ(h.collected[id].num_finishes, 1);
    EXPECT_EQ(h.collected[id].last.finish, FinishReason::kLength);
    h.expect_all_returned();
  }
}

TEST(Scheduler, RunsPromptsBesideDecodesAndDecodesFirst) {
  Harness h(config(4, 8), kRoomy);
  const SequenceId first = h.add(make_request(make_prompt(3, 1), 10));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 3U)));
  const SequenceId second = h.add(make_request(make_prompt(20, 2), 10));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 1U), std::pair(second, 7U)));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 1U), std::pair(second, 7U)));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 1U), std::pair(second, 6U)));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 1U), std::pair(second, 1U)));
}

TEST(Scheduler, SamplesOnlyFromTheLastChunkOfAPrompt) {
  Harness h(config(4, 100, 4), kRoomy);
  h.add(make_request(make_prompt(10, 1), 2));
  EXPECT_FALSE(h.step().sequences[0].sampling);
  EXPECT_FALSE(h.step().sequences[0].sampling);
  const engine::Batch last = h.step();
  EXPECT_THAT(last.sequences[0].tokens, SizeIs(2));
  ASSERT_TRUE(last.sequences[0].sampling);
  EXPECT_EQ(last.sequences[0].sampling->position, 10);
}

TEST(Scheduler, LimitsEachPromptsChunkNotTheStep) {
  Harness h(config(4, 100, 5), kRoomy);
  const SequenceId first = h.add(make_request(make_prompt(20, 1), 1));
  const SequenceId second = h.add(make_request(make_prompt(20, 2), 1));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(first, 5U), std::pair(second, 5U)));
}

TEST(Scheduler, LetsAShortPromptPassALongOne) {
  Harness h(config(4, 64), kRoomy);
  const SequenceId longest = h.add(make_request(make_prompt(400, 1), 1));
  h.step();
  const SequenceId brief = h.add(make_request(make_prompt(8, 2), 1));
  int steps = 0;
  while (h.collected[brief].num_finishes == 0 && steps < 100) {
    h.step();
    ++steps;
  }
  EXPECT_LE(steps, 2);
  EXPECT_EQ(h.collected[longest].num_finishes, 0);
  h.run();
}

TEST(Scheduler, SharesTheBudgetEvenlyBetweenLongPrompts) {
  Harness h(config(4, 64), kRoomy);
  std::map<SequenceId, size_t> tokens;
  for (TokenId i = 0; i < 3; ++i) {
    h.add(make_request(make_prompt(200, i), 1));
  }
  for (int i = 0; i < 6; ++i) {  // 384 of 600 tokens
    for (const auto& [id, count] : parts(h.step())) {
      tokens[id] += count;
    }
  }
  ASSERT_THAT(tokens, SizeIs(3));
  for (const auto& [id, count] : tokens) {
    EXPECT_EQ(count, 128U) << id;
  }
}

TEST(Scheduler, UsesTheWholeBudgetForALonePrompt) {
  Harness h(config(4, 300), kRoomy);
  const SequenceId id = h.add(make_request(make_prompt(400, 1), 1));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(id, 300U)));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(id, 100U)));
}

TEST(Scheduler, ServesSmallerPriorityFirst) {
  Harness h(config(2, 16), kRoomy);
  const SequenceId first = h.add(make_request(make_prompt(32, 1), 1));
  GenerateRequest urgent = make_request(make_prompt(20, 2), 1);
  urgent.priority = -1;
  const SequenceId second = h.add(urgent);
  const SequenceId third = h.add(make_request(make_prompt(4, 3), 1));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(second, 16U)));
  EXPECT_THAT(parts(h.step()), ElementsAre(std::pair(second, 4U), std::pair(first, 12U)));
  h.run();
  EXPECT_EQ(h.collected[third].num_finishes, 1);
}

TEST(Scheduler, RunsAtMostMaxNumSeqs) {
  Harness h(config(2, 64), kRoomy);
  for (TokenId i = 0; i < 5; ++i) {
    h.add(make_request(make_prompt(4, i), 3));
  }
  while (h.scheduler.has_work()) {
    EXPECT_LE(h.step().sequences.size(), 2U);
    EXPECT_LE(h.scheduler.num_running(), 2);
  }
  EXPECT_THAT(h.collected, SizeIs(5));
}

TEST(Scheduler, LetsEveryRunningSequenceAdvanceInASmallStep) {
  Harness h(config(8, 3), kRoomy);
  for (TokenId i = 0; i < 6; ++i) {
    h.add(make_request(make_prompt(5, i), 4));
  }
  while (h.scheduler.has_work()) {
    EXPECT_LE(h.step().num_tokens(), 3);
    EXPECT_LE(h.scheduler.num_running(), 3);
  }
}

// ---- Ends.

TEST(Scheduler, EndsAtAStopTokenWhichIsReported) {
  GenerateRequest request = make_request(make_prompt(5, 1), 30);
  const auto free_run = expected_tokens(request, 1000, kRoomy);
  request.stop_token_ids = {free_run[6]};
  Harness h(config(4, 64), kRoomy);
  const SequenceId id = h.add(request);
  h.run();
  EXPECT_EQ(h.collected[id].last.finish, FinishReason::kStop);
  EXPECT_EQ(h.collected[id].tokens.back(), free_run[6]);
  EXPECT_EQ(h.collected[id].tokens, expected_tokens(request, 1000, kRoomy));
}

TEST(Scheduler, EndsAtEosUnlessIgnored) {
  GenerateRequest request = make_request(make_prompt(5, 1), 30);
  engine::ExecutorCapacity capacity = kRoomy;
  capacity.eos_token_ids = {expected_tokens(request, 1000, kRoomy)[4]};
  request.ignore_eos = false;
  Harness stops(config(4, 64), capacity);
  const SequenceId stopped = stops.add(request);
  stops.run();
  EXPECT_EQ(stops.collected[stopped].last.finish, FinishReason::kStop);
  EXPECT_EQ(stops.collected[stopped].tokens.back(), capacity.eos_token_ids[0]);

  request.ignore_eos = true;
  Harness goes_on(config(4, 64), capacity);
  const SequenceId ignored = goes_on.add(request);
  goes_on.run();
  EXPECT_EQ(goes_on.collected[ignored].last.finish, FinishReason::kLength);
  EXPECT_THAT(goes_on.collected[ignored].tokens, SizeIs(30));
}

TEST(Scheduler, BansEndTokensBeforeMinTokens) {
  GenerateRequest request = make_request(make_prompt(5, 1), 30);
  request.stop_token_ids = {expected_tokens(request, 1000, kRoomy)[0]};
  request.min_tokens = 6;
  Harness h(config(4, 64), kRoomy);
  const SequenceId id = h.add(request);
  h.run();
  EXPECT_EQ(h.collected[id].tokens, expected_tokens(request, 1000, kRoomy));
  EXPECT_GE(h.collected[id].tokens.size(), 6U);
}

// A token that `request` does not generate by itself.
TokenId other_token(const GenerateRequest& request) {
  const std::vector<TokenId> usual = expected_tokens(request, 1000, kRoomy);
  TokenId token = 1;
  while (std::find(usual.begin(), usual.end(), token) != usual.end()) {
    ++token;
  }
  return token;
}

TEST(Scheduler, ForcesTheEndOfReasoningThatReachesItsLimit) {
  GenerateRequest request = make_request(make_prompt(5, 1), 20);
  const std::vector<TokenId> usual = expected_tokens(request, 1000, kRoomy);
  const TokenId close = other_token(request);
  for (const int32_t limit : {0, 1, 7, 19, 20}) {
    request.sampling.thinking_limit = {limit, close};
    request.min_tokens = 10;
    Harness h(config(4, 64, 3), kRoomy);
    const SequenceId id = h.add(request);
    h.run();
    const std::vector<TokenId>& tokens = h.collected[id].tokens;
    ASSERT_THAT(tokens, SizeIs(20));
    const auto kept = static_cast<std::ptrdiff_t>(limit);
    EXPECT_TRUE(std::equal(usual.begin(), usual.begin() + kept, tokens.begin()));
    EXPECT_TRUE(limit == 20 || tokens[static_cast<size_t>(limit)] == close);
    EXPECT_LE(std::count(tokens.begin(), tokens.end(), close), limit == 20 ? 0 : 20);
  }
}

TEST(Scheduler, ForcesNothingWhereTheReasoningEndedBefore) {
  GenerateRequest request = make_request(make_prompt(5, 1), 20);
  const std::vector<TokenId> usual = expected_tokens(request, 1000, kRoomy);
  request.sampling.thinking_limit = {6, usual[4]};
  Harness h(config(4, 64), kRoomy);
  const SequenceId id = h.add(request);
  h.run();
  EXPECT_EQ(h.collected[id].tokens, usual);
}

TEST(Scheduler, CountsReasoningOnceHoweverOftenItIsComputedAgain) {
  const engine::ExecutorCapacity tight = support::small_capacity(8, 4, 4, 64);
  Harness h(config(4, 64), tight);
  std::vector<GenerateRequest> requests;
  for (int32_t i = 0; i < 3; ++i) {
    requests.push_back(make_request(make_prompt(6, i), 20));
    requests.back().sampling.thinking_limit = {9, other_token(requests.back())};
    h.add(requests.back());
  }
  h.run();
  EXPECT_GT(h.scheduler.num_preemptions(), 0U);
  for (SequenceId id = 1; id <= 3; ++id) {
    const GenerateRequest& request = requests[id - 1];
    EXPECT_EQ(h.collected[id].tokens[9], request.sampling.thinking_limit->close_token);
    EXPECT_EQ(h.collected[id].tokens, expected_tokens(request, Harness::seed_of(id), tight));
  }
}

TEST(Scheduler, W05_EndsWithTheContext) {
  const auto capacity = support::small_capacity(64, 4, 4, 20);
  Harness h(config(4, 64), capacity);
  const SequenceId id = h.add(make_request(make_prompt(15, 1), 1000));
  const SequenceId one = h.add(make_request(make_prompt(19, 1), 1000));
  h.run();
  EXPECT_THAT(h.collected[id].tokens, SizeIs(5));
  EXPECT_EQ(h.collected[id].last.finish, FinishReason::kLength);
  EXPECT_THAT(h.collected[one].tokens, SizeIs(1));
  EXPECT_EQ(h.collected[one].last.finish, FinishReason::kLength);
}

TEST(Scheduler, EndsWithTheCacheIfThatIsSmallerThanTheContext) {
  const auto capacity = support::small_capacity(3, 4, 4, 100);
  Harness h(config(4, 64), capacity);
  const SequenceId id = h.add(make_request(make_prompt(5, 1), 1000));
  h.run();
  EXPECT_THAT(h.collected[id].tokens, SizeIs(7));
  EXPECT_EQ(h.collected[id].last.finish, FinishReason::kLength);
  h.expect_all_returned();
}

TEST(Scheduler, RefusesAPromptThatCanNeverFit) {
  for (const auto& capacity :
       {support::small_capacity(3, 4, 4, 100), support::small_capacity(99, 4, 4, 12)}) {
    Scheduler scheduler(config(4, 64), capacity);
    const Status status =
        scheduler.add(1, make_request(make_prompt(12, 1), 1), 0, base::TimePoint{});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), "context_length_exceeded");
    EXPECT_NE(status.message().find("12"), std::string::npos);
    EXPECT_FALSE(scheduler.has_work());
    EXPECT_TRUE(
        scheduler.add(1, make_request(make_prompt(11, 1), 1), 0, base::TimePoint{}).is_ok());
  }
}

// ---- What travels with the tokens.

TEST(Scheduler, ReportsProbesOnceAndLogprobsPerToken) {
  Harness h(config(4, 64, 3), kRoomy);
  GenerateRequest request = make_request(make_prompt(10, 1), 4);
  request.probe_logits = {7, 3};
  request.sampling.logprobs = true;
  const SequenceId id = h.add(request);
  h.run();
  EXPECT_THAT(h.collected[id].probe_logits, ElementsAre(7.0F, 3.0F));
  ASSERT_THAT(h.collected[id].logprobs, SizeIs(4));
  EXPECT_EQ(h.collected[id].logprobs[0].chosen.logprob, -10.0F);
  EXPECT_EQ(h.collected[id].logprobs[3].chosen.logprob, -13.0F);
}

TEST(Scheduler, CountsUsageAndTimes) {
  Harness h(config(1, 64), kRoomy);
  h.add(make_request(make_prompt(10, 1), 2));
  const SequenceId id = h.add(make_request(make_prompt(6, 1), 2));
  h.step();
  h.clock.advance(1000ms);
  h.step();  // the first one is done
  h.clock.advance(500ms);
  h.step();
  h.clock.advance(250ms);
  h.step();
  const TokenOutput& last = h.collected[id].last;
  EXPECT_EQ(last.usage.prompt_tokens, 6);
  EXPECT_EQ(last.usage.completion_tokens, 2);
  EXPECT_DOUBLE_EQ(last.timings.queued_s, 1.5);
  EXPECT_DOUBLE_EQ(last.timings.first_token_s, 1.5);
  EXPECT_DOUBLE_EQ(last.timings.finished_s, 1.75);
}

TEST(Scheduler, ReportsWhoLeftTheQueueOnce) {
  Harness h(config(1, 64), kRoomy);
  h.add(make_request(make_prompt(10, 1), 2));
  const SequenceId waits = h.add(make_request(make_prompt(6, 1), 2));
  h.step();
  const auto started = h.scheduler.take_dequeued();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].prompt_tokens, 10);
  EXPECT_TRUE(started[0].started);
  h.scheduler.abort(waits, h.clock.now());
  const auto gone = h.scheduler.take_dequeued();
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_EQ(gone[0].prompt_tokens, 6);
  EXPECT_FALSE(gone[0].started);
}

// ---- Preemption.

TEST(Scheduler, PreemptsTheNewestAndLosesNothing) {
  const auto capacity = support::small_capacity(9, 4, 4, 32);
  Harness h(config(3, 64), capacity);
  std::vector<GenerateRequest> requests;
  for (TokenId i = 0; i < 3; ++i) {
    requests.push_back(make_request(make_prompt(8, i * 11), 16));
    requests.back().sampling.temperature = 1.0F;
    requests.back().sampling.logprobs = true;
    h.add(requests.back());
  }
  h.run();
  EXPECT_GT(h.scheduler.num_preemptions(), 0U);
  for (SequenceId id = 1; id <= 3; ++id) {
    const Collected& got = h.collected[id];
    EXPECT_EQ(got.tokens, expected_tokens(requests[id - 1], h.seed_of(id), capacity)) << id;
    ASSERT_THAT(got.logprobs, SizeIs(16));
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(got.logprobs[i].chosen.logprob, -static_cast<float>(8 + i));
    }
    EXPECT_EQ(got.num_finishes, 1);
  }
  h.expect_all_returned();
}

TEST(Scheduler, NeverPreemptsTheOldest) {
  const auto capacity = support::small_capacity(8, 4, 4, 32);
  Harness h(config(4, 64), capacity);
  const SequenceId oldest = h.add(make_request(make_prompt(8, 1), 20));
  for (TokenId i = 0; i < 3; ++i) {
    h.add(make_request(make_prompt(6, i), 20));
  }
  int gaps = 0;
  while (h.collected[oldest].num_finishes == 0) {
    const engine::Batch batch = h.step();
    gaps += batch.sequences.empty() || batch.sequences[0].id != oldest ? 1 : 0;
  }
  EXPECT_EQ(gaps, 0);
  h.run();
}

TEST(Scheduler, StartsALargePromptBeforeSmallerOnesBehindIt) {
  const auto capacity = support::small_capacity(10, 4, 4, 40);
  Harness h(config(4, 64), capacity);
  h.add(make_request(make_prompt(20, 1), 8));
  const SequenceId large = h.add(make_request(make_prompt(32, 2), 2));
  const SequenceId small = h.add(make_request(make_prompt(4, 3), 2));
  while (h.collected[small].num_finishes == 0) {
    h.step();
  }
  EXPECT_FALSE(h.collected[large].tokens.empty());
  h.run();
}

// ---- Leaving early.

TEST(Scheduler, CancelsInEveryPhase) {
  // Steps taken before the cancel: waiting, in the middle of the prompt, after it, in decode.
  for (int steps = 0; steps < 6; ++steps) {
    Harness h(config(2, 64, 4), kRoomy);
    const SequenceId other = h.add(make_request(make_prompt(3, 9), 30));
    const SequenceId id = h.add(make_request(make_prompt(10, 1), 30));
    for (int i = 0; i < steps; ++i) {
      h.step();
    }
    h.scheduler.abort(id, h.clock.now());
    h.collect();
    EXPECT_EQ(h.collected[id].last.finish, FinishReason::kAbort) << steps;
    EXPECT_EQ(h.collected[id].last.usage.completion_tokens,
              static_cast<int32_t>(h.collected[id].tokens.size()));
    for (const auto& part : parts(h.step())) {
      EXPECT_EQ(part.first, other);
    }
    h.scheduler.abort(id, h.clock.now());  // once more is harmless
    h.run();
    EXPECT_EQ(h.collected[other].num_finishes, 1);
    h.expect_all_returned();
  }
}

TEST(Scheduler, KeepsBlocksOfASequenceCancelledInFlightUntilItsStepReturns) {
  Harness h(config(2, 64), kRoomy);
  const SequenceId id = h.add(make_request(make_prompt(10, 1), 30));
  const engine::Batch batch = h.scheduler.schedule(h.clock.now());
  h.scheduler.abort(id, h.clock.now());
  EXPECT_THAT(h.scheduler.take_outputs(), IsEmpty());
  EXPECT_GT(h.scheduler.blocks().num_used(), 0);
  const auto output = h.executor.execute(batch);
  ASSERT_TRUE(output.has_value());
  ASSERT_TRUE(h.scheduler.update(*output, h.clock.now()).is_ok());
  h.collect();
  EXPECT_EQ(h.collected[id].last.finish, FinishReason::kAbort);
  EXPECT_THAT(h.collected[id].tokens, IsEmpty());
  h.expect_all_returned();
}

TEST(Scheduler, EndsRequestsPastTheirDeadline) {
  Harness h(config(1, 64), kRoomy);
  GenerateRequest running = make_request(make_prompt(4, 1), 100);
  running.deadline = h.clock.now() + 300ms;
  GenerateRequest waiting = make_request(make_prompt(4, 2), 100);
  waiting.deadline = h.clock.now() + 200ms;
  const SequenceId first = h.add(running);
  const SequenceId second = h.add(waiting);
  h.step();
  h.clock.advance(200ms);
  h.step();
  EXPECT_EQ(h.collected[second].last.finish, FinishReason::kError);
  EXPECT_EQ(h.collected[second].last.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(h.collected[first].num_finishes, 0);
  h.clock.advance(100ms);
  h.step();
  EXPECT_EQ(h.collected[first].last.finish, FinishReason::kError);
  EXPECT_EQ(h.collected[first].last.error.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(h.collected[first].tokens, SizeIs(2));
  h.expect_all_returned();
}

TEST(Scheduler, FailsOneRequestWhoseLogitsAreBroken) {
  Harness h(config(2, 64), kRoomy);
  const SequenceId bad = h.add(make_request(make_prompt(4, 1), 10));
  const SequenceId good = h.add(make_request(make_prompt(4, 2), 10));
  const engine::Batch batch = h.scheduler.schedule(h.clock.now());
  auto output = h.executor.execute(batch);
  ASSERT_TRUE(output.has_value());
  output->sequences[0].tokens.clear();
  output->sequences[0].error = internal_error("not finite");
  ASSERT_TRUE(h.scheduler.update(*output, h.clock.now()).is_ok());
  h.run();
  EXPECT_EQ(h.collected[bad].last.finish, FinishReason::kError);
  EXPECT_EQ(h.collected[bad].last.error.message(), "not finite");
  EXPECT_EQ(h.collected[good].last.finish, FinishReason::kLength);
}

TEST(Scheduler, FailsEverythingAfterAFaultOfTheEngine) {
  Harness h(config(1, 64), kRoomy);
  h.add(make_request(make_prompt(4, 1), 10));
  h.add(make_request(make_prompt(4, 2), 10));
  h.step();
  h.scheduler.schedule(h.clock.now());
  h.scheduler.fail_all(internal_error("broken"), h.clock.now());
  h.collect();
  for (SequenceId id = 1; id <= 2; ++id) {
    EXPECT_EQ(h.collected[id].last.finish, FinishReason::kError);
    EXPECT_EQ(h.collected[id].last.error.message(), "broken");
  }
  h.expect_all_returned();
}

TEST(Scheduler, ReportsResultsThatDoNotMatchTheStep) {
  const auto break_output = [](const std::function<void(engine::StepOutput&)>& change) {
    Harness h(config(2, 64), kRoomy);
    h.add(make_request(make_prompt(4, 1), 10));
    const auto output = h.executor.execute(h.scheduler.schedule(h.clock.now()));
    engine::StepOutput changed = *output;
    change(changed);
    return h.scheduler.update(changed, h.clock.now());
  };
  EXPECT_TRUE(break_output([](engine::StepOutput&) {}).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.step += 1; }).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.sequences.clear(); }).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.sequences[0].id = 77; }).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.sequences[0].tokens.clear(); }).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.sequences[0].tokens = {100}; }).is_ok());
  EXPECT_FALSE(break_output([](auto& output) { output.sequences[0].tokens = {-1}; }).is_ok());
  EXPECT_FALSE(
      break_output([](auto& output) { output.sequences.push_back(output.sequences[0]); }).is_ok());
}

}  // namespace
}  // namespace deepinfer::scheduler
