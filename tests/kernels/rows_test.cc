#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

/// embed, scatter_rows, gather_rows: ops that only move rows.
class RowsTest : public KernelTest {};

TEST_P(RowsTest, EmbedRepeatsTheRowInEveryStream) {
  const int64_t vocab = 11;
  const int64_t width = 37;
  const auto table = normal_bf16(vocab * width);
  const std::vector<int32_t> ids = {10, 0, 3, 3};
  std::vector<float> streams(static_cast<size_t>(4 * 3 * width));
  ops.embed(threaded, {ids.data(), table.data(), 4, width, 3, streams.data()});
  for (int64_t i = 0; i < 4 * 3 * width; ++i) {
    const int32_t id = ids[static_cast<size_t>(i / (3 * width))];
    ASSERT_EQ(streams[static_cast<size_t>(i)],
              bf16_value(table[static_cast<size_t>(id * width + i % width)]));
  }
  ops.embed(threaded, {nullptr, table.data(), 0, width, 3, nullptr});
}

TEST_P(RowsTest, ScatterThenGatherReturnsTheRows) {
  const auto src = normal(4 * 9);
  const std::vector<int64_t> indices = {5, 0, 7, 2};
  std::vector<float> pool(8 * 6, -1.0f);
  ops.scatter_rows(threaded, {src.data(), 9, indices.data(), 4, 6, pool.data()});
  EXPECT_EQ(pool[5 * 6 + 5], src[5]);
  EXPECT_EQ(pool[1 * 6], -1.0f) << "untouched row";
  std::vector<float> back(4 * 8, 0.0f);
  ops.gather_rows(threaded, {pool.data(), 6, indices.data(), 4, 6, back.data(), 8});
  for (size_t r = 0; r < 4; ++r) {
    for (size_t c = 0; c < 6; ++c) {
      EXPECT_EQ(back[r * 8 + c], src[r * 9 + c]);
    }
    EXPECT_EQ(back[r * 8 + 6], 0.0f) << "beyond the width";
  }
}

DI_FOR_EACH_VARIANT(RowsTest);

}  // namespace
}  // namespace deepinfer::kernels
