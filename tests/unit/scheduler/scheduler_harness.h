#pragma once

/// A scheduler and a fake executor joined by a loop without threads.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "scheduler/scheduler.h"
#include "support/fake_executor.h"
#include "support/manual_clock.h"

namespace deepinfer::scheduler {

/// What one request produced in all.
struct Collected {
  std::vector<TokenId> tokens;
  std::vector<PositionLogprobs> logprobs;
  std::vector<float> probe_logits;
  int num_finishes = 0;
  TokenOutput last;
};

inline GenerateRequest make_request(std::vector<TokenId> prompt, int32_t max_tokens) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.temperature = 0.0F;
  request.ignore_eos = true;
  return request;
}

inline std::vector<TokenId> make_prompt(int32_t length, TokenId first) {
  std::vector<TokenId> prompt;
  for (int32_t i = 0; i < length; ++i) {
    prompt.push_back(1 + (first + i * 7) % 99);
  }
  return prompt;
}

class Harness {
 public:
  Harness(const SchedulerConfig& config, const engine::ExecutorCapacity& capacity)
      : executor(capacity), scheduler(config, capacity) {}

  SequenceId add(GenerateRequest request) {
    const SequenceId id = ++last_id;
    const Status status = scheduler.add(id, std::move(request), seed_of(id), clock.now());
    EXPECT_TRUE(status.is_ok()) << status.message();
    return id;
  }

  static uint64_t seed_of(SequenceId id) { return id * 1000; }

  /// Plans, runs and takes in one step; returns its batch.
  engine::Batch step() {
    engine::Batch batch = scheduler.schedule(clock.now());
    if (!batch.sequences.empty()) {
      const auto output = executor.execute(batch);
      EXPECT_TRUE(output.has_value()) << output.status().message();
      const Status updated = scheduler.update(*output, clock.now());
      EXPECT_TRUE(updated.is_ok()) << updated.message();
    }
    collect();
    return batch;
  }

  void collect() {
    for (RequestOutput& result : scheduler.take_outputs()) {
      Collected& request = collected[result.id];
      EXPECT_EQ(request.num_finishes, 0) << "output after the finish of " << result.id;
      const TokenOutput& output = result.output;
      request.tokens.insert(request.tokens.end(), output.tokens.begin(), output.tokens.end());
      request.logprobs.insert(request.logprobs.end(), output.logprobs.begin(),
                              output.logprobs.end());
      request.probe_logits.insert(request.probe_logits.end(), output.probe_logits.begin(),
                                  output.probe_logits.end());
      request.num_finishes += output.finish ? 1 : 0;
      request.last = output;
    }
  }

  /// Steps until nothing is open; returns how many.
  int run(int max_steps = 100000) {
    int steps = 0;
    while (scheduler.has_work() && steps < max_steps) {
      step();
      ++steps;
    }
    EXPECT_FALSE(scheduler.has_work());
    return steps;
  }

  void expect_all_returned() const {
    EXPECT_EQ(scheduler.num_running(), 0);
    EXPECT_EQ(scheduler.num_waiting(), 0);
    EXPECT_EQ(scheduler.blocks().num_used(), 0);
    EXPECT_EQ(scheduler.num_free_slots(), executor.capacity().num_slots);
  }

  support::ManualClock clock;
  support::FakeExecutor executor;
  Scheduler scheduler;
  std::map<SequenceId, Collected> collected;
  SequenceId last_id = 0;
};

/// The tokens that `request` gets when nothing interferes, by definition of the fake.
inline std::vector<TokenId> expected_tokens(const GenerateRequest& request, uint64_t seed,
                                            const engine::ExecutorCapacity& capacity) {
  std::vector<TokenId> history = request.prompt;
  std::vector<TokenId> generated;
  std::map<TokenId, int32_t> counts;
  const int32_t longest = longest_sequence(capacity);
  std::vector<TokenId> ends = request.stop_token_ids;
  if (!request.ignore_eos) {
    ends.insert(ends.end(), capacity.eos_token_ids.begin(), capacity.eos_token_ids.end());
  }
  while (static_cast<int32_t>(generated.size()) < request.max_tokens &&
         static_cast<int32_t>(history.size()) < longest) {
    engine::SamplingRow row;
    row.params = request.sampling;
    row.seed = seed;
    row.position = static_cast<int32_t>(history.size());
    if (static_cast<int32_t>(generated.size()) < request.min_tokens) {
      row.banned = ends;
    }
    if (request.sampling.presence_penalty != 0.0F || request.sampling.frequency_penalty != 0.0F) {
      row.generated_counts.assign(counts.begin(), counts.end());
    }
    if (const auto& limit = request.sampling.thinking_limit;
        limit && static_cast<int32_t>(generated.size()) >= limit->max_tokens &&
        counts.count(limit->close_token) == 0) {
      row.forced = limit->close_token;
    }
    const TokenId token = support::FakeExecutor::next_token(history, capacity.vocab_size, row);
    history.push_back(token);
    generated.push_back(token);
    ++counts[token];
    if (std::find(ends.begin(), ends.end(), token) != ends.end()) {
      break;
    }
  }
  return generated;
}

}  // namespace deepinfer::scheduler
