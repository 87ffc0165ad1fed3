#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

/// candidate_blocks and select_top_k: the two-level choice of compressed entries.
class SelectionTest : public KernelTest {
 protected:
  std::vector<int32_t> select(const std::vector<float>& scores, int32_t visible, int32_t top_k,
                              const uint8_t* allowed = nullptr, int32_t block = 1) {
    std::vector<int32_t> selected(static_cast<size_t>(top_k), -1);
    int32_t count = -1;
    ops.select_top_k(serial, {scores.data(), static_cast<int64_t>(scores.size()), &visible, 1,
                              top_k, allowed, 0, block, selected.data(), &count});
    EXPECT_GE(count, 0);
    selected.resize(static_cast<size_t>(count));
    return selected;
  }

  std::vector<uint8_t> keep_blocks(const std::vector<float>& scores, int32_t visible,
                                   int32_t block_size, int32_t num_keep, size_t blocks) {
    std::vector<uint8_t> keep(blocks, 9);
    ops.candidate_blocks(serial, {scores.data(), static_cast<int64_t>(scores.size()), &visible, 1,
                                  block_size, num_keep, keep.data(), static_cast<int64_t>(blocks)});
    return keep;
  }
};

using Ids = std::vector<int32_t>;
using Flags = std::vector<uint8_t>;

TEST_P(SelectionTest, TakesAllVisibleEntriesWhenFew) {
  EXPECT_EQ(select({1, 5, 3, 9}, 3, 8), (Ids{0, 1, 2}));
  EXPECT_EQ(select({1, 5, 3, 9}, 0, 8), Ids{});
  EXPECT_EQ(select({1, 5, 3, 9}, 3, 3), (Ids{0, 1, 2}));
}

TEST_P(SelectionTest, TakesTheBestInAscendingOrder) {
  EXPECT_EQ(select({1, 5, -3, 9, 4}, 5, 2), (Ids{1, 3}));
  EXPECT_EQ(select({-1, -5, -3, -9}, 4, 2), (Ids{0, 2}));
}

// Zeros are frequent: all heads rectified. -0 and +0 are equal scores.
TEST_P(SelectionTest, TiesGoToTheSmallerEntry) {
  EXPECT_EQ(select({0, 0, 0, 0, 0}, 5, 2), (Ids{0, 1}));
  EXPECT_EQ(select({-0.0f, 0.0f, -0.0f, 0.0f}, 4, 2), (Ids{0, 1}));
  EXPECT_EQ(select({2, 7, 2, 7, 2}, 5, 3), (Ids{0, 1, 3}));
}

TEST_P(SelectionTest, PrefersNumbersToNaN) {
  EXPECT_EQ(select({NAN, 1, NAN, -INFINITY}, 4, 2), (Ids{1, 3}));
  EXPECT_EQ(select({NAN, NAN, NAN}, 3, 2), (Ids{0, 1}));
}

TEST_P(SelectionTest, HonoursAllowedBlocks) {
  const Flags allowed = {0, 1, 1};
  EXPECT_EQ(select({9, 9, 1, 2, 3}, 5, 2, allowed.data(), 2), (Ids{3, 4}));
  EXPECT_EQ(select({9, 9, 1, 2, 3}, 4, 4, allowed.data(), 2), (Ids{2, 3}));
}

TEST_P(SelectionTest, MatchesAStableSort) {
  for (int round = 0; round < 20; ++round) {
    const auto tokens = integer(1, 4);
    const auto stride = integer(1, 300);
    const auto top_k = static_cast<int32_t>(integer(1, 40));
    std::vector<float> scores(static_cast<size_t>(tokens * stride));
    std::vector<int32_t> visible;
    for (float& score : scores) {
      score = static_cast<float>(integer(-6, 6));
    }
    for (int64_t t = 0; t < tokens; ++t) {
      visible.push_back(static_cast<int32_t>(integer(0, stride)));
    }
    std::vector<int32_t> selected(static_cast<size_t>(tokens * top_k));
    std::vector<int32_t> count(static_cast<size_t>(tokens));
    ops.select_top_k(threaded, {scores.data(), stride, visible.data(), tokens, top_k, nullptr, 0, 0,
                                selected.data(), count.data()});
    for (int64_t t = 0; t < tokens; ++t) {
      Ids order(static_cast<size_t>(visible[static_cast<size_t>(t)]));
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
      const float* row = scores.data() + t * stride;
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return row[a] > row[b]; });
      order.resize(std::min(order.size(), static_cast<size_t>(top_k)));
      std::sort(order.begin(), order.end());
      const auto first = selected.begin() + t * top_k;
      EXPECT_EQ(Ids(first, first + count[static_cast<size_t>(t)]), order);
    }
  }
}

TEST_P(SelectionTest, NewestBlockAlwaysStays) {
  // Blocks of 2; entry 6 is the newest, alone in block 3 with the worst score.
  const std::vector<float> scores = {5, 1, 7, 2, 6, 3, -9, 100};
  EXPECT_EQ(keep_blocks(scores, 7, 2, 2, 5), (Flags{0, 1, 0, 1, 9}));
  EXPECT_EQ(keep_blocks(scores, 7, 2, 1, 5), (Flags{0, 0, 0, 1, 9}));
  EXPECT_EQ(keep_blocks(scores, 6, 2, 2, 5), (Flags{0, 1, 1, 9, 9}));
  EXPECT_EQ(keep_blocks(scores, 7, 2, 9, 5), (Flags{1, 1, 1, 1, 9}));
}

TEST_P(SelectionTest, NoBlockWithoutVisibleEntries) {
  EXPECT_EQ(keep_blocks({1, 2, 3}, 0, 2, 2, 2), (Flags{9, 9}));
}

TEST_P(SelectionTest, BlockTiesGoToTheSmallerBlock) {
  EXPECT_EQ(keep_blocks({1, 1, 1, 1, 1, 1, 1, 1}, 8, 2, 3, 4), (Flags{1, 1, 0, 1}));
}

DI_FOR_EACH_VARIANT(SelectionTest);

}  // namespace
}  // namespace deepinfer::kernels
