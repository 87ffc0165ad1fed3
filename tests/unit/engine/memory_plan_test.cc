#include "engine/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deepinfer::engine {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

class MemoryPlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = model::load_model_config("tests/data/tiny-a");
    ASSERT_TRUE(loaded.has_value()) << loaded.status().message();
    model_ = std::move(loaded).value();
    config_.scheduler.max_num_seqs = 4;
    slot_ = model::kv_bytes_per_slot(model_, config_.max_rollback);
    block_ = model::kv_bytes_per_block(model_, config_.block_size);
  }

  Result<MemoryPlan> plan(int64_t available = 64 * kGiB) const {
    return plan_memory(model_, config_, available, 1000);
  }

  model::ModelConfig model_;  // longest sequence 4096
  EngineConfig config_;
  int64_t slot_ = 0;
  int64_t block_ = 0;
};

TEST_F(MemoryPlanTest, TakesNoMoreBlocksThanSequencesCanFill) {
  const auto result = plan();
  ASSERT_TRUE(result.has_value()) << result.status().message();
  EXPECT_EQ(result->shape.num_blocks, 4 * 4096 / 64);
  EXPECT_EQ(result->shape.num_slots, 4);
  EXPECT_EQ(result->max_model_len, 4096);
  EXPECT_EQ(result->cache_bytes(), 256 * block_ + 4 * slot_);
  EXPECT_EQ(result->weight_bytes, 1000);
}

TEST_F(MemoryPlanTest, TakesHalfOfWhatIsFreeAndNoMoreThanTheLimit) {
  EXPECT_EQ(plan(kGiB)->cache_budget, kGiB / 2);
  EXPECT_EQ(plan(1000 * kGiB)->cache_budget, kDefaultCacheLimit);
  config_.kv_cache_memory_bytes = 3 * kGiB;
  EXPECT_EQ(plan(kGiB)->cache_budget, 3 * kGiB);
}

TEST_F(MemoryPlanTest, ShortensTheLongestSequenceToWhatFits) {
  config_.kv_cache_memory_bytes = 4 * slot_ + 10 * block_ + block_ / 2;
  const auto result = plan();
  ASSERT_TRUE(result.has_value()) << result.status().message();
  EXPECT_EQ(result->shape.num_blocks, 10);
  EXPECT_EQ(result->max_model_len, 640);
  EXPECT_LE(result->cache_bytes(), config_.kv_cache_memory_bytes);
  EXPECT_THAT(result->describe(), HasSubstr("longest sequence 640 tokens (the model allows 4096"));
}

TEST_F(MemoryPlanTest, RefusesAConfiguredLengthThatDoesNotFit) {
  config_.kv_cache_memory_bytes = 4 * slot_ + 10 * block_;
  config_.max_model_len = 641;
  const auto result = plan();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(result.error().message(), HasSubstr("--max-model-len 641 needs 11 blocks"));
  config_.max_model_len = 640;
  EXPECT_TRUE(plan().has_value());
}

TEST_F(MemoryPlanTest, SaysWhatIsMissingForTheStates) {
  for (const int64_t budget : {int64_t{1}, 4 * slot_, 4 * slot_ + block_ - 1}) {
    config_.kv_cache_memory_bytes = budget;
    const auto result = plan();
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code(), StatusCode::kResourceExhausted);
    EXPECT_THAT(result.error().message(), HasSubstr("state of 4 sequences"));
    EXPECT_THAT(result.error().message(), HasSubstr("--max-num-seqs"));
  }
  config_.kv_cache_memory_bytes = 0;
  EXPECT_EQ(plan(0).error().code(), StatusCode::kResourceExhausted);
}

TEST_F(MemoryPlanTest, RefusesLengthsBeyondTheModel) {
  config_.max_model_len = 4097;
  const auto result = plan();
  EXPECT_EQ(result.error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(result.error().message(), HasSubstr("4096"));
}

TEST_F(MemoryPlanTest, RefusesBlocksThatSplitACompressedEntry) {
  config_.block_size = 7;
  EXPECT_EQ(plan().error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(plan().error().message(), HasSubstr("--block-size: 7"));
}

}  // namespace
}  // namespace deepinfer::engine
