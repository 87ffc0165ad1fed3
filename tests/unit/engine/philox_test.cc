#include "engine/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace deepinfer::engine {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers of the authors' reference library (Random123, kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DrawsFromTheUnitInterval) {
  std::set<double> draws;
  double sum = 0;
  for (int32_t position = 0; position < 10000; ++position) {
    const double draw = uniform_draw(42, position);
    ASSERT_GE(draw, 0.0);
    ASSERT_LT(draw, 1.0);
    draws.insert(draw);
    sum += draw;
  }
  EXPECT_EQ(draws.size(), 10000U);
  EXPECT_NEAR(sum / 10000, 0.5, 0.015);  // 5 standard deviations
}

TEST(Philox, UsesEveryBitOfTheSeed) {
  std::set<double> draws;
  for (int bit = 0; bit < 64; ++bit) {
    draws.insert(uniform_draw(uint64_t{1} << bit, 7));
  }
  EXPECT_EQ(draws.size(), 64U);
}

}  // namespace
}  // namespace deepinfer::engine
