#include <algorithm>
#include <cmath>
#include <random>

#include "engine/sampler.h"
#include "tests/unit/constraint/harness.h"

namespace deepinfer::engine {
namespace {

namespace ct = constraint::testing;
using Kind = ConstraintSpec::Kind;

constexpr size_t kVocabSize = 261;

constraint::ConstraintState regex_state(const char* expression) {
  return constraint::ConstraintState(ct::compiled({.kind = Kind::kRegex, .text = expression}));
}

SamplingRow make_row(constraint::ConstraintState& state, float temperature) {
  SamplingRow row;
  row.params.temperature = temperature;
  row.seed = 3;
  row.position = 7;
  row.constraint = &state;
  return row;
}

std::vector<float> random_logits(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(kVocabSize);
  std::generate(logits.begin(), logits.end(), [&] { return normal(random); });
  return logits;
}

TokenId draw(const SamplingRow& row, std::vector<float> logits) {
  const SequenceOutput output = Sampler().sample(row, logits);
  EXPECT_TRUE(output.error.is_ok()) << output.error.message();
  return output.tokens.empty() ? -1 : output.tokens[0];
}

TEST(SamplerConstraint, GreedyTakesTheBestAllowedToken) {
  auto state = regex_state("[c-e]");
  std::vector<float> logits(kVocabSize, 0.0F);
  logits['z'] = 9.0F;
  logits['d'] = 2.0F;
  EXPECT_EQ(draw(make_row(state, 0.0F), logits), 'd');
}

// Masked first: the filters then cut among the allowed tokens only.
TEST(SamplerConstraint, FiltersCountAllowedTokensOnly) {
  auto state = regex_state("[0-9]");
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SamplingRow row = make_row(state, 1.5F);
    row.seed = seed;
    row.params.top_k = 3;
    row.params.top_p = 0.9F;
    row.params.min_p = 0.01F;
    std::vector<float> logits = random_logits(seed);
    std::vector<float> digits(logits.begin() + '0', logits.begin() + '9' + 1);
    std::sort(digits.rbegin(), digits.rend());
    const TokenId token = draw(row, logits);
    ASSERT_TRUE(token >= '0' && token <= '9');
    EXPECT_GE(logits[static_cast<size_t>(token)], digits[2]);
  }
}

TEST(SamplerConstraint, DrawsFromTheRenormalisedDistribution) {
  auto state = regex_state("a|b");
  std::vector<float> logits(kVocabSize, 5.0F);
  logits['a'] = 0.0F;
  logits['b'] = std::log(3.0F);
  int counts[2] = {};
  constexpr int kDraws = 10000;
  for (int i = 0; i < kDraws; ++i) {
    SamplingRow row = make_row(state, 1.0F);
    row.position = i;
    ++counts[draw(row, logits) - 'a'];
  }
  const double expected[2] = {kDraws / 4.0, kDraws * 3 / 4.0};
  double chi_square = 0;
  for (int i = 0; i < 2; ++i) {
    chi_square += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  }
  EXPECT_LT(chi_square, 10.83);  // p = 0.001 at one degree of freedom
}

TEST(SamplerConstraint, OnlyTheEndIsLeftWhenTheOutputIsComplete) {
  auto state = regex_state("x");
  ASSERT_TRUE(state.accept('x'));
  EXPECT_EQ(draw(make_row(state, 1.5F), random_logits(1)), ct::kEos);
}

TEST(SamplerConstraint, ABanThatLeavesNothingIsLifted) {
  auto state = regex_state("x?");
  SamplingRow row = make_row(state, 1.0F);
  row.banned = {ct::kEos};
  EXPECT_EQ(draw(row, random_logits(1)), 'x');
  ASSERT_TRUE(state.accept('x'));
  EXPECT_EQ(draw(row, random_logits(1)), ct::kEos);
}

TEST(SamplerConstraint, LogProbabilitiesAreThoseOfTheModel) {
  auto state = regex_state("[0-9]");
  SamplingRow row = make_row(state, 0.0F);
  const std::vector<float> logits = random_logits(5);
  SamplingRow free = row;
  free.constraint = nullptr;
  row.params.logprobs = free.params.logprobs = true;
  row.params.top_logprobs = free.params.top_logprobs = 20;
  std::vector<float> copy = logits;
  const SequenceOutput limited = Sampler().sample(row, copy);
  copy = logits;
  const SequenceOutput unlimited = Sampler().sample(free, copy);
  ASSERT_EQ(limited.logprobs[0].top.size(), 20U);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(limited.logprobs[0].top[i].logprob, unlimited.logprobs[0].top[i].logprob);
  }
  EXPECT_TRUE(std::isfinite(limited.logprobs[0].chosen.logprob));
  EXPECT_LT(limited.logprobs[0].chosen.logprob, 0.0F);
}

TEST(SamplerConstraint, SamplesOfAWholeAnswerFit) {
  const auto compiled = ct::compiled(ct::schema_spec(
      R"({"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":99}},
          "required":["n"]})"));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    constraint::ConstraintState state(compiled);
    std::string text;
    for (int32_t position = 0; !state.ended() && position < 200; ++position) {
      SamplingRow row = make_row(state, 1.5F);
      row.seed = seed;
      row.position = position;
      const TokenId token = draw(row, random_logits(seed * 1000 + static_cast<uint64_t>(position)));
      ASSERT_TRUE(state.accept(token));
      text += token < 256                 ? std::string(1, static_cast<char>(token))
              : token == ct::kOpensString ? "{\""
                                          : "";
    }
    ASSERT_TRUE(state.ended()) << text;
    EXPECT_TRUE(ct::matches(ct::schema_spec(R"({"type":"object"})"), text)) << text;
  }
}

}  // namespace
}  // namespace deepinfer::engine
