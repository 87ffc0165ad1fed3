#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class SwigluTest : public KernelTest {};

TEST_P(SwigluTest, MatchesDoublePrecision) {
  for (const int64_t width : {1, 8, 31, 200}) {
    for (const float limit : {0.0f, 2.0f}) {
      for (const bool weighted : {false, true}) {
        const int64_t rows = 6;
        const auto gate = normal(rows * width, 8.0);
        const auto up = normal(rows * width, 3.0);
        const auto row_weight = normal(rows);
        std::vector<float> out(gate.size());
        ops.swiglu(threaded, {gate.data(), up.data(), rows, width, limit,
                              weighted ? row_weight.data() : nullptr, out.data()});
        std::vector<double> want;
        for (size_t i = 0; i < gate.size(); ++i) {
          double g = gate[i];
          double u = up[i];
          if (limit > 0) {
            g = std::min<double>(g, limit);
            u = std::min<double>(std::max<double>(u, -limit), limit);
          }
          const double weight = weighted ? row_weight[i / static_cast<size_t>(width)] : 1.0;
          want.push_back(g / (1 + std::exp(-g)) * u * weight);
        }
        expect_close(out, want, 1e-6);
        auto in_place = gate;
        ops.swiglu(serial, {in_place.data(), up.data(), rows, width, limit,
                            weighted ? row_weight.data() : nullptr, in_place.data()});
        EXPECT_EQ(in_place, out);
      }
    }
  }
  ops.swiglu(threaded, {nullptr, nullptr, 0, 5, 0, nullptr, nullptr});
}

// The gate is clamped from above only, the up branch on both sides.
TEST_P(SwigluTest, ClampsGateFromAboveOnly) {
  const std::vector<float> gate = {50, -50, 1, 1};
  const std::vector<float> up = {1, 1, 50, -50};
  std::vector<float> out(4);
  ops.swiglu(serial, {gate.data(), up.data(), 1, 4, 10.0f, nullptr, out.data()});
  EXPECT_NEAR(out[0], 10.0 / (1 + std::exp(-10.0)), 1e-5);
  EXPECT_NEAR(out[1], -50.0 * std::exp(-50.0), 1e-26);
  EXPECT_LT(out[1], 0.0f) << "not clamped from below";
  EXPECT_NEAR(out[2], 10.0 / (1 + std::exp(-1.0)), 1e-5);
  EXPECT_EQ(out[3], -out[2]);
}

// The vector exponential over its whole range, relative to double precision.
TEST_P(SwigluTest, SigmoidIsAccurateOverTheWholeRange) {
  std::vector<float> gate;
  for (float x = -100.0f; x <= 100.0f; x += 0.0037f) {
    gate.push_back(x);
  }
  const std::vector<float> up(gate.size(), 1.0f);
  std::vector<float> out(gate.size());
  ops.swiglu(serial, {gate.data(), up.data(), 1, static_cast<int64_t>(gate.size()), 0, nullptr,
                      out.data()});
  for (size_t i = 0; i < gate.size(); ++i) {
    const double x = gate[i];
    const double want = x / (1 + std::exp(-x));
    // Beyond -87 the exponential leaves the range of normal floats.
    const double tolerance = x < -87 ? 1e-35 : 6e-7 * std::abs(want);
    ASSERT_NEAR(out[i], want, tolerance) << "at " << x;
  }
}

TEST_P(SwigluTest, KeepsNaNVisible) {
  const std::vector<float> gate = {NAN, 1};
  const std::vector<float> up = {1, NAN};
  std::vector<float> out(2);
  ops.swiglu(serial, {gate.data(), up.data(), 1, 2, 10.0f, nullptr, out.data()});
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
}

DI_FOR_EACH_VARIANT(SwigluTest);

}  // namespace
}  // namespace deepinfer::kernels
