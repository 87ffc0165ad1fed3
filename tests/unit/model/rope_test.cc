#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/golden/golden_file.h"

namespace deepinfer::model {
namespace {

/// Float32 power functions differ by up to two units in the last place.
constexpr float kRelative = 3e-7F;

void expect_relative(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kRelative * expected[i]) << i;
  }
}

TEST(Rope, EqualsRecordedFrequencies) {
  for (const std::string dir : {"tests/data/tiny-a", "tests/data/tiny-b"}) {
    const golden::File file = golden::load(dir);
    const ModelConfig config = *load_model_config(dir);
    expect_relative(rope_frequencies(config, false), file.rope_sliding);
    expect_relative(rope_frequencies(config, true), file.rope_compressed);
  }
}

/// With the released sizes the blend runs from pair 15 to pair 25.
TEST(Rope, BlendsBetweenTheRightPairs) {
  ModelConfig config;
  config.qk_rope_head_dim = 64;
  config.rope_theta = 10000;
  config.compress_rope_theta = 160000;
  config.yarn = {.factor = 16, .beta_fast = 32, .beta_slow = 1, .original_max_position = 65536};
  const auto blended = rope_frequencies(config, true);
  config.yarn.original_max_position = 0;
  const auto plain = rope_frequencies(config, true);
  for (size_t i = 0; i < plain.size(); ++i) {
    const float ratio = blended[i] / plain[i];
    if (i <= 15) {
      EXPECT_EQ(ratio, 1.0F) << i;
    } else if (i >= 25) {
      EXPECT_EQ(ratio, 1.0F / 16) << i;
    } else {
      EXPECT_LT(ratio, 1.0F) << i;
      EXPECT_GT(ratio, 1.0F / 16) << i;
    }
  }
  EXPECT_EQ(plain[0], 1.0F);
  EXPECT_FLOAT_EQ(rope_frequencies(config, false)[16], 0.01F);
}

}  // namespace
}  // namespace deepinfer::model
