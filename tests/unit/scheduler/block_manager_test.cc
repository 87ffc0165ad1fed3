#include "scheduler/block_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace deepinfer::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BlockManager, GrowsATableToTheBlocksItsTokensNeed) {
  BlockManager blocks(4, 8);
  std::vector<int32_t> table;
  EXPECT_TRUE(blocks.grow(table, 1));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(blocks.grow(table, 8));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(blocks.grow(table, 17));
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(std::set<int32_t>(table.begin(), table.end()).size(), 3U);
  EXPECT_EQ(blocks.num_used(), 3);
  EXPECT_EQ(blocks.num_free(), 1);
}

TEST(BlockManager, ChangesNothingWhenTooFewAreFree) {
  BlockManager blocks(3, 4);
  std::vector<int32_t> first;
  ASSERT_TRUE(blocks.grow(first, 8));
  std::vector<int32_t> second;
  EXPECT_FALSE(blocks.grow(second, 5));
  EXPECT_THAT(second, IsEmpty());
  EXPECT_EQ(blocks.num_free(), 1);
  EXPECT_TRUE(blocks.grow(second, 4));
}

TEST(BlockManager, NeverShrinksATable) {
  BlockManager blocks(3, 4);
  std::vector<int32_t> table;
  ASSERT_TRUE(blocks.grow(table, 12));
  EXPECT_TRUE(blocks.grow(table, 1));
  EXPECT_EQ(table.size(), 3U);
}

TEST(BlockManager, FreesASharedBlockWithItsLastUser) {
  BlockManager blocks(2, 4);
  std::vector<int32_t> owner;
  ASSERT_TRUE(blocks.grow(owner, 4));
  std::vector<int32_t> reader = {owner[0]};
  blocks.share(owner[0]);
  blocks.release(owner);
  EXPECT_EQ(blocks.num_used(), 1);
  blocks.release(reader);
  EXPECT_EQ(blocks.num_used(), 0);
}

TEST(BlockManager, HandsOutReleasedBlocksAgain) {
  BlockManager blocks(2, 4);
  std::vector<int32_t> table;
  ASSERT_TRUE(blocks.grow(table, 8));
  EXPECT_THAT(table, ElementsAre(0, 1));
  blocks.release(table);
  EXPECT_THAT(table, IsEmpty());
  ASSERT_TRUE(blocks.grow(table, 8));
  EXPECT_THAT(table, ElementsAre(0, 1));
}

TEST(BlockManagerDeathTest, RefusesToReleaseABlockTwice) {
  BlockManager blocks(1, 4);
  std::vector<int32_t> table;
  ASSERT_TRUE(blocks.grow(table, 4));
  std::vector<int32_t> copy = table;
  blocks.release(table);
  EXPECT_DEATH(blocks.release(copy), "references > 0");
}

}  // namespace
}  // namespace deepinfer::scheduler
