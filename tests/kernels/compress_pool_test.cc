#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class CompressPoolTest : public KernelTest {};

TEST_P(CompressPoolTest, WeighsEachChannelByItsOwnSoftmax) {
  for (const int64_t ratio : {1, 2, 3}) {
    const int64_t width = 21;
    const int64_t entries = 5;
    const auto values = normal(entries * ratio * width);
    const auto gates = normal(entries * ratio * width, 30.0);
    std::vector<float> out(static_cast<size_t>(entries * width));
    ops.compress_pool(threaded, {values.data(), gates.data(), entries, ratio, width, out.data()});
    std::vector<double> want;
    for (int64_t i = 0; i < entries * width; ++i) {
      const int64_t first = i / width * ratio * width + i % width;
      double top = -INFINITY;
      for (int64_t r = 0; r < ratio; ++r) {
        top = std::max<double>(top, gates[static_cast<size_t>(first + r * width)]);
      }
      double sum = 0;
      double denominator = 0;
      for (int64_t r = 0; r < ratio; ++r) {
        const auto at = static_cast<size_t>(first + r * width);
        denominator += std::exp(gates[at] - top);
        sum += std::exp(gates[at] - top) * values[at];
      }
      want.push_back(sum / denominator);
    }
    expect_close(out, want, 2e-6);
  }
  ops.compress_pool(threaded, {nullptr, nullptr, 0, 2, 21, nullptr});
}

DI_FOR_EACH_VARIANT(CompressPoolTest);

}  // namespace
}  // namespace deepinfer::kernels
