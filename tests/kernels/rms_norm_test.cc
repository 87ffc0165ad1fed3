#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class RmsNormTest : public KernelTest {};

TEST_P(RmsNormTest, MatchesDoublePrecision) {
  for (const int64_t width : {1, 7, 16, 33, 96, 257, 1280}) {
    for (const int64_t rows : {0, 1, 5}) {
      const int64_t stride = width + 3;
      const auto x = normal(rows * stride, 3.0);
      const auto weight = normal_bf16(width);
      std::vector<float> out(static_cast<size_t>(rows * width));
      ops.rms_norm(threaded,
                   {x.data(), stride, weight.data(), rows, width, 1e-20f, out.data(), width});
      std::vector<double> want;
      for (int64_t r = 0; r < rows; ++r) {
        double squares = 0;
        for (int64_t i = 0; i < width; ++i) {
          squares += std::pow(x[static_cast<size_t>(r * stride + i)], 2);
        }
        const double rms = std::sqrt(squares / static_cast<double>(width) + 1e-20);
        for (int64_t i = 0; i < width; ++i) {
          want.push_back(x[static_cast<size_t>(r * stride + i)] / rms *
                         bf16_value(weight[static_cast<size_t>(i)]));
        }
      }
      expect_close(out, want, 2e-6);
    }
  }
}

TEST_P(RmsNormTest, WorksInPlace) {
  const auto x = normal(4 * 70);
  const auto weight = normal_bf16(70);
  std::vector<float> out(x.size());
  ops.rms_norm(serial, {x.data(), 70, weight.data(), 4, 70, 1e-20f, out.data(), 70});
  auto in_place = x;
  ops.rms_norm(threaded, {in_place.data(), 70, weight.data(), 4, 70, 1e-20f, in_place.data(), 70});
  EXPECT_EQ(out, in_place);
}

// 1e-20 instead of the usual 1e-6: tiny rows are normalised to full size, zero rows stay zero.
TEST_P(RmsNormTest, EpsOnlyGuardsAgainstZero) {
  const std::vector<uint16_t> weight(40, bf16_bits(1.0));
  std::vector<float> x(80, 0.0f);
  std::fill(x.begin(), x.begin() + 40, 1e-7f);
  std::vector<float> out(80, 5.0f);
  ops.rms_norm(serial, {x.data(), 40, weight.data(), 2, 40, 1e-20f, out.data(), 40});
  EXPECT_NEAR(out[0], 1.0, 1e-5);
  EXPECT_NEAR(out[39], 1.0, 1e-5);
  EXPECT_EQ(out[40], 0.0f);
  std::fill(x.begin(), x.begin() + 40, 1e-10f);
  ops.rms_norm(serial, {x.data(), 40, weight.data(), 1, 40, 1e-20f, out.data(), 40});
  EXPECT_NEAR(out[0], std::sqrt(0.5), 1e-4);
}

DI_FOR_EACH_VARIANT(RmsNormTest);

}  // namespace
}  // namespace deepinfer::kernels
