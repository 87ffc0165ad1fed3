#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class IndexScoresTest : public KernelTest {};

TEST_P(IndexScoresTest, MatchesDoublePrecisionThroughTheBlockTable) {
  const int32_t block = 4;
  for (const int64_t heads : {1, 16, 33, 64}) {
    for (const int64_t dim : {3, 32, 530}) {
      const TestStep step({{5, 3, {2, 0, 7}, 0}, {0, 1, {1}, 0}, {9, 1, {6, 5, 4}, 0}});
      const std::vector<int32_t> visible = {9, 10, 11, 0, 5};
      const int64_t tokens = 5;
      const auto q = normal(tokens * heads * dim);
      const auto weights = normal(tokens * heads);
      const auto keys = normal(8 * block * dim);
      const int64_t stride = 12;
      std::vector<float> scores(static_cast<size_t>(tokens * stride), -5.0f);
      ops.index_scores(threaded, {step.view(), q.data(), weights.data(), heads, dim, keys.data(),
                                  block, visible.data(), scores.data(), stride});
      for (int64_t t = 0; t < tokens; ++t) {
        const auto& blocks =
            step.parts[static_cast<size_t>(step.token_sequence[static_cast<size_t>(t)])].blocks;
        for (int64_t j = 0; j < stride; ++j) {
          const float got = scores[static_cast<size_t>(t * stride + j)];
          if (j >= visible[static_cast<size_t>(t)]) {
            ASSERT_EQ(got, -5.0f) << "invisible entries are left alone";
            continue;
          }
          const int64_t row = blocks[static_cast<size_t>(j / block)] * block + j % block;
          double want = 0;
          double magnitude = 0;
          for (int64_t n = 0; n < heads; ++n) {
            double product = 0;
            for (int64_t i = 0; i < dim; ++i) {
              product += static_cast<double>(q[static_cast<size_t>((t * heads + n) * dim + i)]) *
                         keys[static_cast<size_t>(row * dim + i)];
            }
            const double term =
                weights[static_cast<size_t>(t * heads + n)] * std::max(product, 0.0);
            want += term;
            magnitude += std::abs(term) + 1;
          }
          ASSERT_NEAR(got, want, 5e-6 * magnitude) << "token " << t << " entry " << j;
        }
      }
    }
  }
}

TEST_P(IndexScoresTest, HandlesMoreEntriesThanOnePieceOfWork) {
  const int64_t entries = 700;
  const TestStep step({{699, 1, {0}, 0}});
  const auto q = normal(2 * 8);
  const auto weights = normal(2);
  const auto keys = normal(entries * 8);
  const auto visible = static_cast<int32_t>(entries);
  std::vector<float> scores(static_cast<size_t>(entries), NAN);
  ops.index_scores(threaded, {step.view(), q.data(), weights.data(), 2, 8, keys.data(), 700,
                              &visible, scores.data(), entries});
  for (size_t j = 0; j < 700; ++j) {
    double want = 0;
    for (size_t n = 0; n < 2; ++n) {
      double product = 0;
      for (size_t i = 0; i < 8; ++i) {
        product += static_cast<double>(q[n * 8 + i]) * keys[j * 8 + i];
      }
      want += weights[n] * std::max(product, 0.0);
    }
    ASSERT_NEAR(scores[j], want, 1e-5) << j;
  }
}

DI_FOR_EACH_VARIANT(IndexScoresTest);

}  // namespace
}  // namespace deepinfer::kernels
