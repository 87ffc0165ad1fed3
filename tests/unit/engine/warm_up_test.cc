#include "engine/warm_up.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "device/device.h"
#include "engine/memory_plan.h"
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

int32_t longest(const Batch& batch) {
  int32_t end = 0;
  for (const BatchSequence& sequence : batch.sequences) {
    end = std::max(end, sequence.start_position + static_cast<int32_t>(sequence.tokens.size()));
  }
  return end;
}

TEST(LargestSteps, HaveFewAndManySequences) {
  const ExecutorCapacity large = capacity(200, 1000);
  const auto steps = largest_steps(large, limits(8, 64));
  ASSERT_EQ(steps.size(), 2U);
  for (const Batch& step : steps) {
    expect_valid(step, large);
    EXPECT_EQ(step.num_tokens(), 64);
    EXPECT_EQ(longest(step), 1000);
  }
  EXPECT_EQ(steps[0].sequences.size(), 1U);
  EXPECT_EQ(steps[1].sequences.size(), 8U);
}

TEST(LargestSteps, TakeSeveralSequencesWhereOneCannotFillTheStep) {
  const ExecutorCapacity large = capacity(200, 100);
  const auto steps = largest_steps(large, limits(8, 350));
  ASSERT_EQ(steps.size(), 2U);
  expect_valid(steps[0], large);
  EXPECT_EQ(steps[0].sequences.size(), 4U);
  EXPECT_EQ(steps[0].num_tokens(), 350);
}

TEST(LargestSteps, ReachTheEndOfScarceBlocks) {
  const ExecutorCapacity scarce = capacity(10, 160);
  const auto steps = largest_steps(scarce, limits(8, 64));
  ASSERT_EQ(steps.size(), 2U);
  expect_valid(steps[0], scarce);
  expect_valid(steps[1], scarce);
  EXPECT_EQ(longest(steps[0]), 160);
  EXPECT_EQ(steps[1].sequences.size(), 8U);
}

TEST(LargestSteps, FitsSmallCaches) {
  for (const int32_t num_blocks : {1, 2, 3, 9}) {
    for (const int32_t max_num_seqs : {1, 2, 8, 100}) {
      for (const int32_t tokens : {1, 2, 7, 1000}) {
        const ExecutorCapacity small = capacity(num_blocks, num_blocks * 16 - 3);
        for (const Batch& batch : largest_steps(small, limits(max_num_seqs, tokens))) {
          expect_valid(batch, small);
          EXPECT_LE(batch.num_tokens(), tokens);
          EXPECT_LE(static_cast<int32_t>(batch.sequences.size()), max_num_seqs);
        }
      }
    }
  }
}

// Lends the memory of another device and counts how often.
class CountingDevice final : public device::Device {
 public:
  explicit CountingDevice(std::unique_ptr<device::Device> device)
      : Device(device->selected_ops()), device_(std::move(device)) {}

  std::string description() const override { return device_->description(); }
  Result<device::Buffer> allocate(size_t bytes) override {
    ++num_allocations;
    return device_->allocate(bytes);
  }
  Status copy_async(void* dst, const void* src, size_t bytes) override {
    return device_->copy_async(dst, src, bytes);
  }
  Status synchronize() override { return device_->synchronize(); }
  int64_t available_bytes() const override { return device_->available_bytes(); }
  const kernels::OpContext& context() const override { return device_->context(); }

  int num_allocations = 0;

 protected:
  void release(void* /*data*/, size_t /*bytes*/) override { FAIL() << "lends, owns nothing"; }

 private:
  std::unique_ptr<device::Device> device_;
};

// Sequences of random lengths, as many as fit; each asks for a token.
Batch random_step(const ExecutorCapacity& capacity, const SchedulerConfig& limits,
                  std::mt19937& rng) {
  const auto draw = [&rng](int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(rng);
  };
  Batch batch;
  int32_t tokens_left = limits.max_num_batched_tokens;
  int32_t next_block = 0;
  for (int32_t slot = 0; slot < limits.max_num_seqs && tokens_left > 0; ++slot) {
    const int32_t blocks_left = capacity.num_blocks - next_block;
    const int32_t longest = std::min(capacity.max_model_len, blocks_left * capacity.block_size);
    if (longest == 0) {
      break;
    }
    const int32_t length = draw(1, longest);
    const int32_t num_tokens = draw(1, std::min(length, tokens_left));
    BatchSequence sequence{
        .id = static_cast<SequenceId>(slot),
        .state_slot = slot,
        .start_position = length - num_tokens,
        .tokens = std::vector<TokenId>(static_cast<size_t>(num_tokens), 3),
        .block_table = {},
        .sampling = SamplingRow{.params = {.temperature = 0.0F}, .position = length}};
    for (int32_t used = 0; used < length; used += capacity.block_size) {
      sequence.block_table.push_back(next_block++);
    }
    tokens_left -= num_tokens;
    batch.sequences.push_back(std::move(sequence));
  }
  return batch;
}

// What is promised to clients: no step can fail for want of memory.
TEST(LargestSteps, NoLaterStepNeedsMemory) {
  EngineConfig config;
  config.model_dir = "tests/data/tiny-a";
  config.block_size = 16;
  struct Case {
    int32_t max_model_len, max_num_seqs, max_num_batched_tokens, num_blocks;
  };
  for (const Case& limits : {Case{64, 4, 150, 64}, Case{160, 6, 100, 10}, Case{160, 3, 40, 64}}) {
    auto owned = std::make_unique<CountingDevice>(*device::make_cpu_device("", 1));
    CountingDevice& device = *owned;
    config.max_model_len = limits.max_model_len;
    config.scheduler.max_num_seqs = limits.max_num_seqs;
    config.scheduler.max_num_batched_tokens = limits.max_num_batched_tokens;
    auto model = model::Model::load(config.model_dir, config.model_dir, device);
    ASSERT_TRUE(model.has_value()) << model.error().message();
    auto plan = plan_memory((*model)->config(), config, int64_t{1} << 30, 0);
    ASSERT_TRUE(plan.has_value()) << plan.error().message();
    plan->shape.num_blocks = limits.num_blocks;
    auto cache = model::KvCache::create((*model)->config(), plan->shape, device);
    ASSERT_TRUE(cache.has_value()) << cache.error().message();
    ModelRunner runner(std::move(owned), *std::move(model), *std::move(cache), *plan);
    for (const Batch& batch : largest_steps(runner.capacity(), config.scheduler)) {
      ASSERT_TRUE(runner.execute(batch).has_value());
    }
    device.num_allocations = 0;
    std::mt19937 rng(7);
    for (int i = 0; i < 40; ++i) {
      ASSERT_TRUE(
          runner.execute(random_step(runner.capacity(), config.scheduler, rng)).has_value());
      ASSERT_EQ(device.num_allocations, 0) << "step " << i;
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
