#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class SparseAttentionTest : public KernelTest {
 protected:
  struct Shape {
    int64_t heads, dim;
    int32_t window, ring_size, top_k;
  };

  /// Random inputs for `step`, the op's result and the formula in double precision.
  void check(const TestStep& step, const Shape& shape, bool with_entries) {
    const auto tokens = static_cast<int64_t>(step.positions.size());
    const int32_t block = 4;
    const auto q = normal(tokens * shape.heads * shape.dim);
    const auto sink = normal(shape.heads, 2.0);
    const auto step_keys = normal(tokens * shape.dim);
    const auto ring = normal(3 * shape.ring_size * shape.dim);
    const auto entries = normal(16 * block * shape.dim);
    std::vector<int32_t> selected(static_cast<size_t>(tokens * shape.top_k), -1);
    std::vector<int32_t> count(static_cast<size_t>(tokens));
    for (int64_t t = 0; t < tokens; ++t) {
      const auto& part =
          step.parts[static_cast<size_t>(step.token_sequence[static_cast<size_t>(t)])];
      int32_t taken = 0;
      for (int32_t j = 0; j < static_cast<int32_t>(part.blocks.size()) * block; ++j) {
        if (taken < shape.top_k && integer(0, 1) == 1) {
          selected[static_cast<size_t>(t * shape.top_k + taken++)] = j;
        }
      }
      count[static_cast<size_t>(t)] = taken;
    }
    std::vector<float> out(static_cast<size_t>(tokens * shape.heads * shape.dim), NAN);
    const float scale = 1.0f / std::sqrt(static_cast<float>(shape.dim));
    ops.sparse_attention(threaded, {.step = step.view(),
                                    .q = q.data(),
                                    .num_heads = shape.heads,
                                    .head_dim = shape.dim,
                                    .scale = scale,
                                    .sink = sink.data(),
                                    .step_keys = step_keys.data(),
                                    .ring = ring.data(),
                                    .ring_size = shape.ring_size,
                                    .window = shape.window,
                                    .entries = with_entries ? entries.data() : nullptr,
                                    .entries_per_block = block,
                                    .selected = selected.data(),
                                    .selected_stride = shape.top_k,
                                    .selected_count = count.data(),
                                    .out = out.data()});
    std::vector<double> want;
    for (int64_t t = 0; t < tokens; ++t) {
      const auto index = static_cast<size_t>(step.token_sequence[static_cast<size_t>(t)]);
      const auto& part = step.parts[index];
      std::vector<const float*> keys;
      const int32_t position = step.positions[static_cast<size_t>(t)];
      for (int32_t p = std::max(0, position - shape.window + 1); p <= position; ++p) {
        if (p < part.start_position) {
          keys.push_back(&ring[static_cast<size_t>(
              (part.state_slot * shape.ring_size + p % shape.ring_size) * shape.dim)]);
        } else {
          const int64_t row = step.sequences[index].token_begin + p - part.start_position;
          keys.push_back(&step_keys[static_cast<size_t>(row * shape.dim)]);
        }
      }
      for (int32_t i = 0; with_entries && i < count[static_cast<size_t>(t)]; ++i) {
        const int32_t j = selected[static_cast<size_t>(t * shape.top_k + i)];
        const int64_t row = part.blocks[static_cast<size_t>(j / block)] * block + j % block;
        keys.push_back(&entries[static_cast<size_t>(row * shape.dim)]);
      }
      for (int64_t h = 0; h < shape.heads; ++h) {
        const float* query = &q[static_cast<size_t>((t * shape.heads + h) * shape.dim)];
        double denominator = std::exp(static_cast<double>(sink[static_cast<size_t>(h)]));
        std::vector<double> sum(static_cast<size_t>(shape.dim));
        for (const float* key : keys) {
          double product = 0;
          for (int64_t i = 0; i < shape.dim; ++i) {
            product += static_cast<double>(query[i]) * key[i];
          }
          const double weight = std::exp(product * scale);
          denominator += weight;
          for (int64_t i = 0; i < shape.dim; ++i) {
            sum[static_cast<size_t>(i)] += weight * key[i];
          }
        }
        for (const double value : sum) {
          want.push_back(value / denominator);
        }
      }
    }
    expect_close(out, want, 5e-6);
  }
};

TEST_P(SparseAttentionTest, MatchesDoublePrecision) {
  // A prompt from the start, a chunk that continues one, single decodes, one with a short past.
  const TestStep step({{0, 9, {3, 1}, 2}, {30, 5, {0, 2, 5}, 0}, {71, 1, {4}, 1}, {2, 1, {}, 1}});
  for (const int64_t heads : {1, 4, 6, 19}) {
    for (const int64_t dim : {4, 16, 47, 96}) {
      check(step, {heads, dim, 7, 11, 6}, true);
      check(step, {heads, dim, 7, 11, 6}, false);
    }
  }
}

TEST_P(SparseAttentionTest, HandlesMoreKeysThanOneBlock) {
  const TestStep step({{100, 3, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1}});
  check(step, {9, 64, 90, 95, 50}, true);
}

TEST_P(SparseAttentionTest, DoesNothingWithoutTokens) {
  ops.sparse_attention(threaded, {.step = {},
                                  .q = nullptr,
                                  .num_heads = 4,
                                  .head_dim = 8,
                                  .scale = 1,
                                  .sink = nullptr,
                                  .step_keys = nullptr,
                                  .ring = nullptr,
                                  .ring_size = 4,
                                  .window = 4,
                                  .entries = nullptr,
                                  .entries_per_block = 4,
                                  .selected = nullptr,
                                  .selected_stride = 0,
                                  .selected_count = nullptr,
                                  .out = nullptr});
}

// The sink is an unscaled logit without a value: it shrinks the output and nothing else.
TEST_P(SparseAttentionTest, SinkIsInTheDenominatorOnly) {
  const TestStep step({{0, 1, {}, 0}});
  const std::vector<float> q = {0, 0, 0, 0};
  const std::vector<float> key = {1, -2, 3, 4};
  for (const float sink : {-INFINITY, -200.0f, 0.0f, std::log(3.0f), 300.0f}) {
    std::vector<float> out(4, NAN);
    ops.sparse_attention(serial, {.step = step.view(),
                                  .q = q.data(),
                                  .num_heads = 1,
                                  .head_dim = 4,
                                  .scale = 0.5f,
                                  .sink = &sink,
                                  .step_keys = key.data(),
                                  .ring = nullptr,
                                  .ring_size = 4,
                                  .window = 4,
                                  .entries = nullptr,
                                  .entries_per_block = 1,
                                  .selected = nullptr,
                                  .selected_stride = 0,
                                  .selected_count = nullptr,
                                  .out = out.data()});
    const double share = 1.0 / (1.0 + std::exp(static_cast<double>(sink)));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(out[i], key[i] * share, 1e-6) << "sink " << sink;
    }
  }
}

TEST_P(SparseAttentionTest, SurvivesHugeLogits) {
  const TestStep step({{0, 3, {}, 0}});
  const std::vector<float> q(3 * 16, 100.0f);
  std::vector<float> keys(3 * 16, 1.0f);
  std::fill(keys.begin() + 16, keys.begin() + 32, 2.0f);
  std::fill(keys.begin() + 32, keys.end(), -3.0f);
  const float sink = 0;
  std::vector<float> out(3 * 16, NAN);
  ops.sparse_attention(serial, {.step = step.view(),
                                .q = q.data(),
                                .num_heads = 1,
                                .head_dim = 16,
                                .scale = 0.25f,
                                .sink = &sink,
                                .step_keys = keys.data(),
                                .ring = nullptr,
                                .ring_size = 8,
                                .window = 8,
                                .entries = nullptr,
                                .entries_per_block = 1,
                                .selected = nullptr,
                                .selected_stride = 0,
                                .selected_count = nullptr,
                                .out = out.data()});
  EXPECT_NEAR(out[0], 1.0, 1e-6);
  EXPECT_NEAR(out[16], 2.0, 1e-6);
  EXPECT_NEAR(out[47], 2.0, 1e-6);
}

DI_FOR_EACH_VARIANT(SparseAttentionTest);

}  // namespace
}  // namespace deepinfer::kernels
