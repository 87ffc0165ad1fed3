#include "engine/warm_up.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/model_runner.h"

namespace deepinfer::engine {
namespace {

ExecutorCapacity capacity(int32_t num_blocks, int32_t max_model_len) {
  return {.num_blocks = num_blocks,
          .block_size = 16,
          .num_slots = 8,
          .max_model_len = max_model_len,
          .vocab_size = 100,
          .eos_token_ids = {},
          .fingerprint = {}};
}

SchedulerConfig limits(int32_t max_num_seqs, int32_t max_num_batched_tokens) {
  SchedulerConfig config;
  config.max_num_seqs = max_num_seqs;
  config.max_num_batched_tokens = max_num_batched_tokens;
  return config;
}

// What the scheduler guarantees of every batch.
void expect_valid(const Batch& batch, const ExecutorCapacity& capacity) {
  std::set<int32_t> slots;
  std::set<int32_t> blocks;
  for (const BatchSequence& sequence : batch.sequences) {
    EXPECT_TRUE(slots.insert(sequence.state_slot).second);
    EXPECT_LT(sequence.state_slot, capacity.num_slots);
    EXPECT_GE(sequence.start_position, 0);
    EXPECT_FALSE(sequence.tokens.empty());
    const auto end = sequence.start_position + static_cast<int32_t>(sequence.tokens.size());
    EXPECT_LE(end, capacity.max_model_len);
    EXPECT_LE(end, static_cast<int32_t>(sequence.block_table.size()) * capacity.block_size);
    for (const int32_t block : sequence.block_table) {
      EXPECT_TRUE(blocks.insert(block).second);
      EXPECT_LT(block, capacity.num_blocks);
    }
    EXPECT_TRUE(sequence.sampling.has_value());
  }
}

TEST(LargestStep, FillsTheStepAndReachesTheEndOfTheLongestSequence) {
  const ExecutorCapacity large = capacity(200, 1000);
  const Batch batch = largest_step(large, limits(8, 64));
  expect_valid(batch, large);
  EXPECT_EQ(batch.sequences.size(), 8U);
  EXPECT_EQ(batch.num_tokens(), 64);
  const BatchSequence& prompt = batch.sequences.back();
  EXPECT_EQ(prompt.start_position + static_cast<int32_t>(prompt.tokens.size()), 1000);
}

TEST(LargestStep, FitsSmallCaches) {
  for (const int32_t num_blocks : {1, 2, 3, 9}) {
    for (const int32_t max_num_seqs : {1, 2, 8, 100}) {
      for (const int32_t tokens : {1, 2, 7, 1000}) {
        const ExecutorCapacity small = capacity(num_blocks, num_blocks * 16 - 3);
        const Batch batch = largest_step(small, limits(max_num_seqs, tokens));
        expect_valid(batch, small);
        EXPECT_LE(batch.num_tokens(), tokens);
        EXPECT_LE(static_cast<int32_t>(batch.sequences.size()), max_num_seqs);
      }
    }
  }
}

TEST(ModelRunner, WarmsUpWithoutLeavingATrace) {
  EngineConfig config;
  config.model_dir = "tests/data/tiny-a";
  config.num_threads = 1;
  config.scheduler.max_num_seqs = 3;
  const auto first_token = [&config](int32_t max_num_batched_tokens) {
    config.scheduler.max_num_batched_tokens = max_num_batched_tokens;
    const auto runner = ModelRunner::create(config);
    EXPECT_TRUE(runner.has_value()) << (runner ? "" : runner.error().message());
    Batch batch;
    batch.sequences.push_back(
        {.id = 1,
         .state_slot = 1,
         .start_position = 0,
         .tokens = {5, 6, 7, 8, 9, 10, 11},
         .block_table = {2},
         .sampling =
             SamplingRow{.params = {.temperature = 0.0F, .logprobs = true}, .position = 7}});
    const auto output = (*runner)->execute(batch);
    EXPECT_TRUE(output.has_value());
    return output->sequences.at(0);
  };
  const SequenceOutput small = first_token(4);
  const SequenceOutput large = first_token(500);
  EXPECT_EQ(small.tokens, large.tokens);
  ASSERT_EQ(small.logprobs.size(), large.logprobs.size());
  EXPECT_EQ(small.logprobs.at(0).chosen.logprob, large.logprobs.at(0).chosen.logprob);
}

}  // namespace
}  // namespace deepinfer::engine
