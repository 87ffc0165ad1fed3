#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class RopeTest : public KernelTest {};

TEST_P(RopeTest, RotatesAdjacentPairsOfTheLastChannels) {
  const int64_t rows = 3;
  const int64_t heads = 2;
  const int64_t dim = 10;
  const int64_t rope_dim = 4;
  const auto x = normal(rows * heads * dim);
  const std::vector<float> freq = {1.0f, 0.01f};
  const std::vector<int32_t> positions = {0, 7, 1234};
  for (const bool inverse : {false, true}) {
    auto out = x;
    ops.rope(threaded,
             {out.data(), rows, heads, dim, rope_dim, positions.data(), freq.data(), inverse});
    std::vector<double> want(x.begin(), x.end());
    for (int64_t i = 0; i < rows * heads; ++i) {
      for (int64_t f = 0; f < 2; ++f) {
        const float angle = static_cast<float>(positions[static_cast<size_t>(i / heads)]) *
                            freq[static_cast<size_t>(f)];
        const double c = std::cos(static_cast<double>(angle));
        const double s = std::sin(static_cast<double>(angle)) * (inverse ? -1 : 1);
        const auto at = static_cast<size_t>(i * dim + dim - rope_dim + 2 * f);
        want[at] = x[at] * c - x[at + 1] * s;
        want[at + 1] = x[at] * s + x[at + 1] * c;
      }
    }
    expect_close(out, want, 1e-6);
  }
}

TEST_P(RopeTest, InverseUndoesTheRotation) {
  const auto x = normal(5 * 3 * 8);
  const std::vector<float> freq = {1.0f, 0.3f, 0.02f};
  const std::vector<int32_t> positions = {0, 1, 500, 70000, 999999};
  auto out = x;
  ops.rope(serial, {out.data(), 5, 3, 8, 6, positions.data(), freq.data(), false});
  EXPECT_NE(out, x);
  ops.rope(serial, {out.data(), 5, 3, 8, 6, positions.data(), freq.data(), true});
  expect_close(out, {x.begin(), x.end()}, 1e-6);
}

// Near 10^6 the rounding of the angle to float32 turns by up to 0.03 rad: it is part of the model.
TEST_P(RopeTest, RoundsTheAngleToFloat32) {
  const float freq = 0.73498f;
  const int32_t position = 999983;
  std::vector<float> x = {1.0f, 0.0f};
  ops.rope(serial, {x.data(), 1, 1, 2, 2, &position, &freq, false});
  const float rounded = static_cast<float>(position) * freq;
  const double exact = static_cast<double>(position) * static_cast<double>(freq);
  ASSERT_GT(std::abs(static_cast<double>(rounded) - exact), 1e-3);
  EXPECT_NEAR(x[0], std::cos(static_cast<double>(rounded)), 1e-6);
  EXPECT_NEAR(x[1], std::sin(static_cast<double>(rounded)), 1e-6);
}

DI_FOR_EACH_VARIANT(RopeTest);

}  // namespace
}  // namespace deepinfer::kernels
