#include "model/step_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

using testing::ElementsAre;

class StepPlanTest : public testing::Test {
 protected:
  StepPlanTest()
      : device_(*device::make_cpu_device("reference", 1)),
        config_(*parse_model_config(tiny_config().dump())),
        cache_(*KvCache::create(
            config_, {.num_blocks = 64, .block_size = 4, .num_slots = 4, .max_rollback = 2},
            *device_)) {}

  void build(std::vector<SequenceInput> sequences) {
    ForwardInput input;
    for (const SequenceInput& sequence : sequences) {
      input.tokens.resize(input.tokens.size() + static_cast<size_t>(sequence.num_tokens), 1);
    }
    input.sequences = std::move(sequences);
    ASSERT_TRUE(check_input(input, config_, cache_->shape()).is_ok());
    input_ = std::move(input);
    ASSERT_TRUE(plan_.build(input_, config_, *cache_, *device_).is_ok());
  }

  std::unique_ptr<device::Device> device_;
  ModelConfig config_;
  std::unique_ptr<KvCache> cache_;
  ForwardInput input_;
  StepPlan plan_;
};

TEST_F(StepPlanTest, FindsEntriesThatTheStepCompletes) {
  // Slot 1 has run 3 tokens and gets 2 (positions 3, 4); slot 2 starts with 3.
  build({{.state_slot = 1, .start_position = 3, .num_tokens = 2, .block_table = {9, 5}},
         {.state_slot = 2, .start_position = 0, .num_tokens = 3, .block_table = {7}}});
  const RatioPlan& pairs = plan_.ratio(2);
  EXPECT_THAT(pairs.entry_positions.host, ElementsAre(2, 0));
  EXPECT_THAT(pairs.entry_rows.host, ElementsAre(9 * 2 + 1, 7 * 2));
  // Position 2 of slot 1 is in the ring; the open row follows the step's five rows.
  EXPECT_THAT(pairs.group_rows.host, ElementsAre(5, 0, 2, 3));
  EXPECT_THAT(pairs.open_rows.host, ElementsAre(1 * cache_->open_ring() + 2));
  EXPECT_THAT(pairs.visible.host, ElementsAre(2, 2, 0, 1, 1));
  EXPECT_EQ(pairs.max_visible, 2);
  const RatioPlan& singles = plan_.ratio(1);
  EXPECT_THAT(singles.entry_rows.host, ElementsAre(9 * 4 + 3, 5 * 4, 7 * 4, 7 * 4 + 1, 7 * 4 + 2));
  EXPECT_THAT(singles.visible.host, ElementsAre(4, 5, 1, 2, 3));
}

TEST_F(StepPlanTest, DecodeRowThatClosesNoGroupCompletesNothing) {
  build({{.state_slot = 0, .start_position = 6, .num_tokens = 1, .block_table = {1, 2}}});
  EXPECT_EQ(plan_.ratio(2).num_entries(), 0);
  EXPECT_THAT(plan_.ratio(2).visible.host, ElementsAre(3));
}

TEST_F(StepPlanTest, LongChunkKeepsOnlyItsNewestRows) {
  const int32_t ring = cache_->window_ring();
  std::vector<int32_t> blocks(16);
  std::iota(blocks.begin(), blocks.end(), 0);
  build({{.state_slot = 0, .start_position = 4, .num_tokens = 1, .block_table = {20, 21}},
         {.state_slot = 3, .start_position = 1, .num_tokens = ring + 5, .block_table = blocks},
         {.state_slot = 1, .start_position = 0, .num_tokens = 1, .block_table = {30}}});
  const Graph graph{config_, *device_};
  std::vector<float> rows(static_cast<size_t>(plan_.num_tokens()));
  std::iota(rows.begin(), rows.end(), 0.0F);
  std::vector<float> rings(static_cast<size_t>(4 * ring), -1.0F);
  plan_.window().scatter(graph, rows.data(), 1, rings.data());
  EXPECT_EQ(rings[4], 0.0F);
  for (int32_t position = 6; position < ring + 6; ++position) {
    EXPECT_EQ(rings[static_cast<size_t>(3 * ring + position % ring)], static_cast<float>(position))
        << position;  // row 1 + (position - 1)
  }
  EXPECT_EQ(rings[static_cast<size_t>(ring)], static_cast<float>(ring + 6));
  EXPECT_EQ(std::count(rings.begin(), rings.end(), -1.0F), 3 * ring - 2);
}

TEST_F(StepPlanTest, TilesAreStepsOfTheirOwn) {
  build({{.state_slot = 0, .start_position = 7, .num_tokens = 3, .block_table = {1, 2, 3}},
         {.state_slot = 1, .start_position = 0, .num_tokens = 4, .block_table = {4}},
         {.state_slot = 2, .start_position = 2, .num_tokens = 1, .block_table = {5}}});
  for (int64_t rows = 1; rows <= 9; ++rows) {
    std::vector<StepTile> tiles;
    const auto cut = plan_.cut(rows, *device_, tiles);
    ASSERT_TRUE(cut.has_value());
    EXPECT_EQ(cut->size(), tiles.size());
    int64_t covered = 0;
    for (const StepTile& tile : tiles) {
      EXPECT_EQ(tile.begin, covered);
      int32_t next = 0;
      for (int32_t s = 0; s < tile.view.num_sequences; ++s) {
        EXPECT_EQ(tile.view.sequences[s].token_begin, next);
        next += tile.view.sequences[s].num_tokens;
      }
      EXPECT_EQ(next, tile.view.num_tokens);
      for (int32_t t = 0; t < tile.view.num_tokens; ++t) {
        const kernels::SequenceView& part = tile.view.sequences[tile.view.token_sequence[t]];
        const kernels::StepView& whole = plan_.view();
        const int64_t row = tile.begin + t;
        const kernels::SequenceView& sequence = whole.sequences[whole.token_sequence[row]];
        EXPECT_EQ(part.state_slot, sequence.state_slot);
        EXPECT_EQ(part.block_table, sequence.block_table);
        EXPECT_EQ(tile.view.positions[t], whole.positions[row]);
        EXPECT_EQ(part.start_position + t - part.token_begin, whole.positions[row]);
      }
      covered += tile.view.num_tokens;
    }
    EXPECT_EQ(covered, plan_.num_tokens());
  }
}

}  // namespace
}  // namespace deepinfer::model
