#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

/// hc_collapse and hc_expand: how streams are read and written around a sub-layer.
class HcStreamsTest : public KernelTest {};

TEST_P(HcStreamsTest, CollapseWeighsStreams) {
  for (const int64_t num : {1, 3, 4}) {
    for (const int64_t width : {1, 15, 16, 70}) {
      for (const int64_t tokens : {0, 1, 6}) {
        const auto streams = normal(tokens * num * width);
        const auto pre = normal(tokens * num);
        std::vector<float> out(static_cast<size_t>(tokens * width));
        ops.hc_collapse(threaded, {streams.data(), pre.data(), tokens, num, width, out.data()});
        std::vector<double> want;
        for (int64_t i = 0; i < tokens * width; ++i) {
          const int64_t t = i / width;
          double sum = 0;
          for (int64_t m = 0; m < num; ++m) {
            sum += static_cast<double>(pre[static_cast<size_t>(t * num + m)]) *
                   streams[static_cast<size_t>((t * num + m) * width + i % width)];
          }
          want.push_back(sum);
        }
        expect_close(out, want, 1e-6);
      }
    }
  }
}

// comb[j][k] takes source stream j to destination stream k; the transpose is another model.
TEST_P(HcStreamsTest, ExpandMixesStreamsInPlace) {
  for (const int64_t num : {int64_t{1}, int64_t{3}, int64_t{4}, kMaxStreams}) {
    for (const int64_t width : {1, 15, 16, 70}) {
      for (const int64_t tokens : {0, 1, 6}) {
        const auto old = normal(tokens * num * width);
        const auto y = normal(tokens * width);
        const auto post = normal(tokens * num);
        const auto comb = normal(tokens * num * num);
        auto streams = old;
        ops.hc_expand(threaded,
                      {y.data(), post.data(), comb.data(), tokens, num, width, streams.data()});
        std::vector<double> want;
        for (int64_t i = 0; i < tokens * num * width; ++i) {
          const int64_t t = i / (num * width);
          const int64_t k = i / width % num;
          const int64_t c = i % width;
          double sum = static_cast<double>(post[static_cast<size_t>(t * num + k)]) *
                       y[static_cast<size_t>(t * width + c)];
          for (int64_t j = 0; j < num; ++j) {
            sum += static_cast<double>(comb[static_cast<size_t>((t * num + j) * num + k)]) *
                   old[static_cast<size_t>((t * num + j) * width + c)];
          }
          want.push_back(sum);
        }
        expect_close(streams, want, 3e-6);
      }
    }
  }
}

DI_FOR_EACH_VARIANT(HcStreamsTest);

}  // namespace
}  // namespace deepinfer::kernels
