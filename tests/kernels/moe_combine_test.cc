#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class MoeCombineTest : public KernelTest {};

TEST_P(MoeCombineTest, AddsTheRowsOfATokenToItsBase) {
  for (const int64_t width : {1, 16, 45}) {
    for (const int64_t tokens : {0, 1, 7}) {
      const int64_t top_k = 3;
      const auto base = normal(tokens * width);
      const auto rows = normal(10 * width);
      std::vector<int64_t> row_of;
      for (int64_t i = 0; i < tokens * top_k; ++i) {
        row_of.push_back(integer(0, 9));
      }
      std::vector<float> out(base.size());
      ops.moe_combine(threaded,
                      {base.data(), rows.data(), row_of.data(), tokens, top_k, width, out.data()});
      std::vector<double> want(base.begin(), base.end());
      for (int64_t i = 0; i < tokens * top_k; ++i) {
        for (int64_t c = 0; c < width; ++c) {
          want[static_cast<size_t>(i / top_k * width + c)] +=
              rows[static_cast<size_t>(row_of[static_cast<size_t>(i)] * width + c)];
        }
      }
      expect_close(out, want, 1e-6);
      auto in_place = base;
      ops.moe_combine(serial, {in_place.data(), rows.data(), row_of.data(), tokens, top_k, width,
                               in_place.data()});
      EXPECT_EQ(in_place, out);
    }
  }
}

DI_FOR_EACH_VARIANT(MoeCombineTest);

}  // namespace
}  // namespace deepinfer::kernels
