#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class HcMixTest : public KernelTest {};

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

using Matrix = std::vector<std::vector<double>>;

Matrix sinkhorn(Matrix c, int iters, double eps) {
  const size_t size = c.size();
  const auto rows = [&] {
    for (auto& row : c) {
      double sum = eps;
      for (const double value : row) sum += value;
      for (double& value : row) value /= sum;
    }
  };
  const auto columns = [&] {
    for (size_t k = 0; k < size; ++k) {
      double sum = eps;
      for (size_t j = 0; j < size; ++j) sum += c[j][k];
      for (size_t j = 0; j < size; ++j) c[j][k] /= sum;
    }
  };
  for (auto& row : c) {
    double sum = 0;
    for (double& value : row) sum += value = std::exp(value);
    for (double& value : row) value = value / sum + eps;
  }
  columns();
  for (int i = 1; i < iters; ++i) {
    rows();
    columns();
  }
  return c;
}

struct Mixes {
  std::vector<double> pre, post, comb;
};

Mixes expected(const std::vector<float>& streams, const std::vector<float>& fn,
               const std::vector<float>& base, const std::vector<float>& scale, size_t tokens,
               size_t num, size_t hidden) {
  Mixes mixes;
  const size_t width = num * hidden;
  for (size_t t = 0; t < tokens; ++t) {
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += std::pow(streams[t * width + i], 2);
    const double rms = std::sqrt(squares / static_cast<double>(width) + 1e-20);
    const auto mixed = [&](size_t row, size_t kind) {
      double sum = 0;
      for (size_t i = 0; i < width; ++i) {
        sum += static_cast<double>(fn[row * width + i]) * streams[t * width + i];
      }
      return sum / rms * scale[kind] + base[row];
    };
    Matrix z(num, std::vector<double>(num));
    for (size_t m = 0; m < num; ++m) {
      mixes.pre.push_back(sigmoid(mixed(m, 0)) + 1e-6);
      mixes.post.push_back(2 * sigmoid(mixed(num + m, 1)));
      for (size_t k = 0; k < num; ++k) z[m][k] = mixed(2 * num + m * num + k, 2);
    }
    for (const auto& row : sinkhorn(z, 20, 1e-6)) {
      mixes.comb.insert(mixes.comb.end(), row.begin(), row.end());
    }
  }
  return mixes;
}

TEST_P(HcMixTest, MatchesDoublePrecision) {
  for (const int64_t num : {1, 2, 4, 5}) {
    for (const int64_t hidden : {6, 32, 133}) {
      for (const int64_t tokens : {0, 1, 3, 9}) {
        const int64_t rows = (2 + num) * num;
        const auto streams = normal(tokens * num * hidden, 2.0);
        const auto fn = normal(rows * num * hidden, 0.1);
        const auto base = normal(rows);
        const auto scale = normal(3);
        std::vector<float> pre(static_cast<size_t>(tokens * num));
        std::vector<float> post(pre.size());
        std::vector<float> comb(static_cast<size_t>(tokens * num * num));
        ops.hc_mix(threaded, {.streams = streams.data(),
                              .fn = fn.data(),
                              .base = base.data(),
                              .scale = scale.data(),
                              .num_tokens = tokens,
                              .num_streams = num,
                              .hidden_size = hidden,
                              .sinkhorn_iters = 20,
                              .rms_eps = 1e-20f,
                              .hc_eps = 1e-6f,
                              .pre = pre.data(),
                              .post = post.data(),
                              .comb = comb.data()});
        const Mixes want = expected(streams, fn, base, scale, static_cast<size_t>(tokens),
                                    static_cast<size_t>(num), static_cast<size_t>(hidden));
        expect_close(pre, want.pre, 2e-6);
        expect_close(post, want.post, 4e-6);
        expect_close(comb, want.comb, 1e-5);
      }
    }
  }
}

// One iteration is not enough to converge, so the order of its steps shows: columns come last.
TEST_P(HcMixTest, SinkhornEndsOnColumns) {
  const int64_t num = 3;
  const int64_t rows = (2 + num) * num;
  const std::vector<float> streams(static_cast<size_t>(num * 4), 1.0f);
  const std::vector<float> fn(static_cast<size_t>(rows * num * 4), 0.0f);
  const auto base = normal(rows, 2.0);
  const std::vector<float> scale(3, 1.0f);
  std::vector<float> pre(3), post(3), comb(9);
  for (const int32_t iters : {1, 2}) {
    ops.hc_mix(serial, {.streams = streams.data(),
                        .fn = fn.data(),
                        .base = base.data(),
                        .scale = scale.data(),
                        .num_tokens = 1,
                        .num_streams = num,
                        .hidden_size = 4,
                        .sinkhorn_iters = iters,
                        .rms_eps = 1e-20f,
                        .hc_eps = 1e-6f,
                        .pre = pre.data(),
                        .post = post.data(),
                        .comb = comb.data()});
    Matrix z(3, std::vector<double>(3));
    for (size_t i = 0; i < 9; ++i) z[i / 3][i % 3] = base[6 + i];
    std::vector<double> want;
    for (const auto& row : sinkhorn(z, iters, 1e-6))
      want.insert(want.end(), row.begin(), row.end());
    expect_close(comb, want, 2e-6);
    EXPECT_NEAR(comb[0] + comb[3] + comb[6], 1.0, 1e-5) << "column sums";
  }
}

DI_FOR_EACH_VARIANT(HcMixTest);

}  // namespace
}  // namespace deepinfer::kernels
