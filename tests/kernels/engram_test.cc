#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

/// engram_gather and engram_apply.
class EngramTest : public KernelTest {};

TEST_P(EngramTest, GatherDequantisesWithOneScalePerRowAndSegment) {
  for (const int64_t dim : {32, 40, 64, 256}) {
    const TestWeight table(DType::kF8E4M3, 1, 50, dim, rng);
    for (const int64_t begin : {0, 7}) {
      const std::vector<int64_t> rows = {3, 0, 42, 3, 17, 8};
      std::vector<float> out(static_cast<size_t>(6 * dim));
      ops.engram_gather(threaded, {table.view(begin, 43), rows.data(), 2, 3, out.data()});
      for (int64_t i = 0; i < 6 * dim; ++i) {
        const int64_t row = begin + rows[static_cast<size_t>(i / dim)];
        ASSERT_EQ(out[static_cast<size_t>(i)], static_cast<float>(table.at(row, i % dim)));
      }
    }
    ops.engram_gather(threaded, {table.view(), nullptr, 0, 3, nullptr});
  }
}

double gate_of(double d) {
  return 1 / (1 + std::exp(-std::copysign(std::sqrt(std::max(std::abs(d), 1e-6)), d)));
}

TEST_P(EngramTest, ApplyMatchesDoublePrecision) {
  for (const int64_t width : {5, 32, 133}) {
    for (const int64_t tokens : {0, 1, 4}) {
      const int64_t num = 3;
      const auto old = normal(tokens * num * width, 3.0);
      const auto kv = normal(tokens * (num + 1) * width, 0.5);
      const auto q_weight = normal_bf16(num * width);
      const auto k_weight = normal_bf16(num * width);
      auto streams = old;
      ops.engram_apply(threaded, {kv.data(), q_weight.data(), k_weight.data(), tokens, num, width,
                                  1e-20f, streams.data()});
      std::vector<double> want(old.begin(), old.end());
      for (int64_t item = 0; item < tokens * num; ++item) {
        const float* s = old.data() + item * width;
        const float* key = kv.data() + (item + item / num) * width;
        const float* value = kv.data() + (item / num * (num + 1) + num) * width;
        double dot = 0, ss = 0, kk = 0;
        for (int64_t i = 0; i < width; ++i) {
          const auto w = static_cast<size_t>(item % num * width + i);
          dot += s[i] * bf16_value(q_weight[w]) * bf16_value(k_weight[w]) * key[i];
          ss += static_cast<double>(s[i]) * s[i];
          kk += static_cast<double>(key[i]) * key[i];
        }
        const auto n = static_cast<double>(width);
        const double d = dot / std::sqrt(ss / n + 1e-20) / std::sqrt(kk / n + 1e-20) / std::sqrt(n);
        for (int64_t i = 0; i < width; ++i) {
          want[static_cast<size_t>(item * width + i)] += gate_of(d) * value[i];
        }
      }
      expect_close(streams, want, 3e-6);
    }
  }
}

// d = +0 and -0: the floor of 1e-6 stays and the sign of zero decides (copysign).
TEST_P(EngramTest, ApplyFloorsTheGateAndKeepsItsSign) {
  const std::vector<uint16_t> one(4, bf16_bits(1.0));
  const std::vector<uint16_t> minus(4, bf16_bits(-1.0));
  const std::vector<float> kv = {0, 0, 0, 0, 1, 1, 1, 1};
  std::vector<float> streams = {1, 1, 1, 1};
  ops.engram_apply(serial, {kv.data(), one.data(), one.data(), 1, 1, 4, 1e-20f, streams.data()});
  EXPECT_NEAR(streams[0], 1 + gate_of(0.0), 1e-6);
  // A tiny negative product, far below the floor.
  const std::vector<float> tiny = {1e-9f, 0, 0, 1, 1, 1, 1, 1};
  streams = {1, 0, 0, 0};
  ops.engram_apply(serial,
                   {tiny.data(), minus.data(), one.data(), 1, 1, 4, 1e-20f, streams.data()});
  EXPECT_NEAR(streams[1], gate_of(-1e-9), 1e-7);
  EXPECT_LT(streams[1], 0.5f);
}

DI_FOR_EACH_VARIANT(EngramTest);

}  // namespace
}  // namespace deepinfer::kernels
