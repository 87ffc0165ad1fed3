// Random workloads over small caches: whatever arrives, is cancelled, expires or is preempted,
// every request gets exactly what it would get alone, or a prefix of it if it was ended.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "unit/scheduler/scheduler_harness.h"

namespace deepinfer::scheduler {
namespace {

struct Workload {
  SchedulerConfig config;
  engine::ExecutorCapacity capacity;
};

int32_t pick(std::mt19937_64& random, int32_t low, int32_t high) {
  return std::uniform_int_distribution<int32_t>(low, high)(random);
}

Workload make_workload(std::mt19937_64& random) {
  Workload workload;
  workload.config.max_num_seqs = pick(random, 1, 8);
  workload.config.max_num_batched_tokens = pick(random, 1, 40);
  workload.config.prefill_chunk_tokens = pick(random, 0, 9);
  workload.capacity = support::small_capacity(pick(random, 4, 30), pick(random, 1, 8),
                                              workload.config.max_num_seqs, pick(random, 10, 80));
  return workload;
}

GenerateRequest random_request(std::mt19937_64& random, const engine::ExecutorCapacity& capacity,
                               base::TimePoint now) {
  const int32_t longest = longest_sequence(capacity);
  GenerateRequest request = make_request(
      make_prompt(pick(random, 1, longest - 1), pick(random, 0, 98)), pick(random, 1, 2 * longest));
  request.ignore_eos = pick(random, 0, 2) == 0;
  request.min_tokens = pick(random, 0, std::min(4, request.max_tokens));
  request.priority = pick(random, -1, 1);
  request.sampling.temperature = pick(random, 0, 1) == 0 ? 0.0F : 1.0F;
  request.sampling.frequency_penalty = pick(random, 0, 3) == 0 ? 0.5F : 0.0F;
  if (pick(random, 0, 5) == 0) {
    request.stop_token_ids = {pick(random, 0, 99), pick(random, 0, 99)};
  }
  if (pick(random, 0, 2) == 0) {
    request.sampling.thinking_limit = {pick(random, 0, longest), pick(random, 0, 99)};
  }
  if (pick(random, 0, 9) == 0) {
    request.deadline = now + std::chrono::milliseconds(pick(random, 0, 40));
  }
  return request;
}

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed)
      : random_(seed),
        workload_(make_workload(random_)),
        harness_(workload_.config, workload_.capacity) {}

  uint64_t preemptions() const { return harness_.scheduler.num_preemptions(); }

  void run() {
    const int num_requests = pick(random_, 1, 25);
    int steps = 0;
    while (static_cast<int>(requests_.size()) < num_requests || harness_.scheduler.has_work()) {
      ASSERT_LT(++steps, 20000);
      if (static_cast<int>(requests_.size()) < num_requests && pick(random_, 0, 2) == 0) {
        arrive();
      }
      if (pick(random_, 0, 14) == 0) {
        cancel();
      }
      const engine::Batch batch = harness_.step();
      check_step(batch);
      harness_.clock.advance(std::chrono::milliseconds(1));
      if (testing::Test::HasFailure()) {
        return;
      }
    }
    check_end();
  }

 private:
  void arrive() {
    GenerateRequest request = random_request(random_, workload_.capacity, harness_.clock.now());
    const SequenceId id = harness_.add(request);
    requests_.emplace(id, std::move(request));
  }

  void cancel() {
    const auto id =
        static_cast<SequenceId>(pick(random_, 1, static_cast<int32_t>(requests_.size()) + 1));
    harness_.scheduler.abort(id, harness_.clock.now());
    harness_.collect();
    EXPECT_TRUE(!requests_.count(id) || harness_.collected[id].num_finishes == 1);
  }

  void check_step(const engine::Batch& batch) const {
    EXPECT_LE(batch.num_tokens(), workload_.config.max_num_batched_tokens);
    EXPECT_LE(harness_.scheduler.num_running(), workload_.config.max_num_seqs);
    EXPECT_EQ(harness_.scheduler.num_free_slots() + harness_.scheduler.num_running(),
              workload_.capacity.num_slots);
    if (harness_.scheduler.num_running() == 0) {
      EXPECT_EQ(harness_.scheduler.blocks().num_used(), 0);
    }
    const int32_t chunk = workload_.config.prefill_chunk_tokens;
    for (const auto& sequence : batch.sequences) {
      EXPECT_TRUE(chunk == 0 || static_cast<int32_t>(sequence.tokens.size()) <= chunk);
    }
  }

  void check_end() {
    harness_.expect_all_returned();
    for (const auto& [id, request] : requests_) {
      const Collected& got = harness_.collected[id];
      EXPECT_EQ(got.num_finishes, 1) << id;
      auto expected = expected_tokens(request, Harness::seed_of(id), workload_.capacity);
      const bool ended =
          got.last.finish == FinishReason::kAbort || got.last.finish == FinishReason::kError;
      if (ended) {
        ASSERT_LE(got.tokens.size(), expected.size());
        expected.resize(got.tokens.size());
      }
      EXPECT_EQ(got.tokens, expected) << id;
      EXPECT_EQ(got.last.usage.completion_tokens, static_cast<int32_t>(got.tokens.size()));
      EXPECT_EQ(got.last.usage.prompt_tokens, static_cast<int32_t>(request.prompt.size()));
    }
  }

  std::mt19937_64 random_;
  Workload workload_;
  Harness harness_;
  std::map<SequenceId, GenerateRequest> requests_;
};

TEST(SchedulerProperty, EveryRequestGetsWhatItWouldGetAlone) {
  uint64_t preemptions = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    RandomRun run(seed);
    run.run();
    preemptions += run.preemptions();
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(preemptions, 100U);  // else the caches were too large to show anything
}

TEST(SchedulerProperty, K06_MakesProgressUnderThreeTimesTheLoadTheCacheHolds) {
  const auto capacity = support::small_capacity(16, 4, 8, 48);
  SchedulerConfig config;
  config.max_num_seqs = 8;
  config.max_num_batched_tokens = 32;
  Harness harness(config, capacity);
  std::mt19937_64 random(7);
  std::map<SequenceId, GenerateRequest> requests;
  for (int i = 0; i < 300; ++i) {
    GenerateRequest request = make_request(make_prompt(pick(random, 1, 30), i), 18);
    requests.emplace(harness.add(request), request);
  }
  harness.run(20000);
  for (const auto& [id, request] : requests) {
    EXPECT_EQ(harness.collected[id].tokens,
              expected_tokens(request, Harness::seed_of(id), capacity));
  }
  harness.expect_all_returned();
}

}  // namespace
}  // namespace deepinfer::scheduler
