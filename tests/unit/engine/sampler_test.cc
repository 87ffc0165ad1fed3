#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "engine/philox.h"

namespace deepinfer::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

SamplingRow make_row(float temperature) {
  SamplingRow row;
  row.params.temperature = temperature;
  row.seed = 1;
  row.position = 1;
  return row;
}

SequenceOutput sample(const SamplingRow& row, std::vector<float> logits) {
  return Sampler().sample(row, logits);
}

TokenId token(const SamplingRow& row, const std::vector<float>& logits) {
  const SequenceOutput output = sample(row, logits);
  EXPECT_TRUE(output.error.is_ok()) << output.error.message();
  return output.tokens.empty() ? -1 : output.tokens[0];
}

std::vector<float> random_logits(std::mt19937_64& random, size_t count, bool with_ties) {
  std::normal_distribution<float> normal(0.0F, 3.0F);
  std::vector<float> logits(count);
  for (float& logit : logits) {
    logit = normal(random);
    if (with_ties) {
      logit = std::round(logit);
    }
  }
  return logits;
}

// The distribution that `row` draws from, by sorting the whole vocabulary.
std::vector<double> slow_distribution(const SamplingRow& row, std::vector<float> logits) {
  const SamplingParams& params = row.params;
  for (const auto& [id, bias] : params.logit_bias) {
    logits[static_cast<size_t>(id)] += bias;
  }
  for (const auto& [id, count] : row.generated_counts) {
    logits[static_cast<size_t>(id)] -=
        params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
  }
  for (const TokenId id : row.banned) {
    logits[static_cast<size_t>(id)] = -kInfinity;
  }
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  const double best = logits[order[0]];
  const auto weight = [&](size_t id) {
    return std::exp((static_cast<double>(logits[id]) - best) /
                    static_cast<double>(params.temperature));
  };
  if (params.top_k > 0) {
    order.resize(std::min(order.size(), static_cast<size_t>(params.top_k)));
  }
  double total = 0;
  for (const size_t id : order) {
    total += weight(id);
  }
  double mass = 0;
  size_t kept = 0;
  while (kept < order.size() && (params.top_p == 1.0F || mass < params.top_p * total)) {
    mass += weight(order[kept++]);
  }
  order.resize(kept);
  while (order.size() > 1 && weight(order.back()) < params.min_p) {
    order.pop_back();
  }
  total = 0;
  for (const size_t id : order) {
    total += weight(id);
  }
  std::vector<double> probabilities(logits.size(), 0.0);
  for (const size_t id : order) {
    probabilities[id] = weight(id) / total;
  }
  return probabilities;
}

// ---- Greedy.

TEST(Sampler, TakesTheLargestLogitAtTemperatureZero) {
  EXPECT_EQ(token(make_row(0.0F), {0.0F, 3.0F, -1.0F}), 1);
}

TEST(Sampler, BreaksTiesByTheSmallerId) {
  for (const size_t size : {2U, 7U, 8U, 9U, 31U}) {
    std::vector<float> logits(size, -5.0F);
    logits[size - 1] = 2.0F;
    logits[size / 2] = 2.0F;
    EXPECT_EQ(token(make_row(0.0F), logits), static_cast<TokenId>(size / 2)) << size;
  }
}

TEST(Sampler, FindsTheMaximumAtEveryPlace) {
  for (size_t place = 0; place < 37; ++place) {
    std::vector<float> logits(37, -2.0F);
    logits[place] = -1.0F;
    EXPECT_EQ(token(make_row(0.0F), logits), static_cast<TokenId>(place));
  }
}

// ---- Adjustments.

TEST(Sampler, AddsBiasAndSubtractsPenalties) {
  const std::vector<float> logits = {1.0F, 1.5F, 0.0F};
  SamplingRow row = make_row(0.0F);
  row.params.logit_bias = {{2, 2.0F}};
  EXPECT_EQ(token(row, logits), 2);

  row = make_row(0.0F);
  row.generated_counts = {{1, 3}};
  row.params.presence_penalty = 0.4F;
  EXPECT_EQ(token(row, logits), 1);
  row.params.presence_penalty = 0.6F;
  EXPECT_EQ(token(row, logits), 0);
  row.params.presence_penalty = 0.0F;
  row.params.frequency_penalty = 0.2F;  // three times: 0.6
  EXPECT_EQ(token(row, logits), 0);
}

TEST(Sampler, NeverDrawsBannedTokens) {
  SamplingRow row = make_row(0.0F);
  row.banned = {1, 0};
  EXPECT_EQ(token(row, {1.0F, 9.0F, -3.0F}), 2);
  row = make_row(5.0F);
  row.banned = {0, 3};
  for (row.position = 0; row.position < 200; ++row.position) {
    EXPECT_THAT(token(row, {1.0F, 0.0F, 0.0F, 2.0F}), ::testing::AnyOf(1, 2));
  }
}

TEST(Sampler, FailsTheRowIfEverythingIsBanned) {
  SamplingRow row = make_row(1.0F);
  row.banned = {0, 1};
  const SequenceOutput output = sample(row, {1.0F, 2.0F});
  EXPECT_EQ(output.error.code(), StatusCode::kInternal);
  EXPECT_THAT(output.tokens, IsEmpty());
}

// ---- Broken rows.

TEST(Sampler, FailsTheRowIfItsLogitsAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
    for (size_t place = 0; place < 19; ++place) {
      for (const float temperature : {0.0F, 1.0F}) {
        std::vector<float> logits(19, 0.5F);
        logits[place] = bad;
        const SequenceOutput output = sample(make_row(temperature), logits);
        EXPECT_EQ(output.error.code(), StatusCode::kInternal);
        EXPECT_THAT(output.tokens, IsEmpty());
      }
    }
  }
  EXPECT_FALSE(sample(make_row(0.0F), std::vector<float>(5, -kInfinity)).error.is_ok());
}

TEST(Sampler, DrawsAmongTheFiniteLogits) {
  SamplingRow row = make_row(1.0F);
  row.params.top_p = 0.9F;
  for (row.position = 0; row.position < 100; ++row.position) {
    EXPECT_THAT(token(row, {-kInfinity, 0.0F, -kInfinity, 0.0F}), ::testing::AnyOf(1, 3));
  }
}

// ---- Distribution.

struct Case {
  float temperature;
  float top_p;
  int32_t top_k;
  float min_p;
};

class SamplerDistribution : public ::testing::TestWithParam<Case> {};

// What the sampler keeps is seen by drawing at every quantile of its own generator: the tokens
// drawn are those of positive probability, as often as they should be.
TEST_P(SamplerDistribution, MatchesTheSlowReference) {
  const Case& test = GetParam();
  std::mt19937_64 random(3);
  for (const bool with_ties : {false, true}) {
    for (const size_t vocab_size : {5U, 64U, 300U}) {
      const std::vector<float> logits = random_logits(random, vocab_size, with_ties);
      SamplingRow row = make_row(test.temperature);
      row.params.top_p = test.top_p;
      row.params.top_k = test.top_k;
      row.params.min_p = test.min_p;
      row.params.logit_bias = {{2, 1.0F}};
      row.banned = {3};
      const std::vector<double> expected = slow_distribution(row, logits);
      constexpr int kDraws = 6000;
      std::vector<int> seen(vocab_size, 0);
      Sampler sampler;
      for (row.position = 0; row.position < kDraws; ++row.position) {
        std::vector<float> copy = logits;
        const SequenceOutput output = sampler.sample(row, copy);
        ASSERT_THAT(output.tokens, SizeIs(1));
        ++seen[static_cast<size_t>(output.tokens[0])];
      }
      double chi_square = 0;
      double rare_expected = 0, rare_seen = 0;
      int cells = 0;
      for (size_t id = 0; id < vocab_size; ++id) {
        const double want = expected[id] * kDraws;
        if (expected[id] == 0.0) {
          ASSERT_EQ(seen[id], 0) << "token " << id << " is cut off";
        } else if (want < 8) {
          rare_expected += want;
          rare_seen += seen[id];
        } else {
          chi_square += (seen[id] - want) * (seen[id] - want) / want;
          ++cells;
        }
      }
      if (rare_expected >= 8) {
        chi_square += (rare_seen - rare_expected) * (rare_seen - rare_expected) / rare_expected;
        ++cells;
      }
      // Mean plus five standard deviations of the chi-square distribution.
      const double freedom = std::max(1, cells - 1);
      EXPECT_LE(chi_square, freedom + 5 * std::sqrt(2 * freedom)) << vocab_size << with_ties;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, SamplerDistribution,
                         ::testing::Values(Case{1.0F, 1.0F, 0, 0.0F}, Case{0.3F, 1.0F, 0, 0.0F},
                                           Case{2.5F, 1.0F, 0, 0.0F}, Case{1.0F, 1.0F, 1, 0.0F},
                                           Case{1.0F, 1.0F, 7, 0.0F}, Case{1.0F, 1.0F, 1000, 0.0F},
                                           Case{1.0F, 0.5F, 0, 0.0F}, Case{1.0F, 0.97F, 0, 0.0F},
                                           Case{1.0F, 0.001F, 0, 0.0F}, Case{1.0F, 1.0F, 0, 0.1F},
                                           Case{1.0F, 1.0F, 0, 1.0F}, Case{1.5F, 0.8F, 12, 0.05F},
                                           Case{1e-6F, 0.9F, 0, 0.0F}));

// The set that a filter keeps, read off the extremes: with a temperature so high that all kept
// tokens are equally likely, enough draws show every one of them.
TEST(Sampler, KeepsExactlyTheTokensOfTheReference) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 30; ++round) {
    const std::vector<float> logits = random_logits(random, 40, round % 2 == 0);
    SamplingRow row = make_row(1.0F);
    row.params.top_p = 0.05F + 0.03F * static_cast<float>(round);
    row.params.top_k = round % 3 == 0 ? 9 : 0;
    const std::vector<double> expected = slow_distribution(row, logits);
    double cumulative = 0;
    for (size_t id = 0; id < logits.size(); ++id) {
      cumulative += expected[id];
    }
    ASSERT_NEAR(cumulative, 1.0, 1e-9);
    std::vector<bool> seen(logits.size(), false);
    for (row.position = 0; row.position < 20000; ++row.position) {
      seen[static_cast<size_t>(token(row, logits))] = true;
    }
    for (size_t id = 0; id < logits.size(); ++id) {
      if (expected[id] == 0.0) {
        EXPECT_FALSE(seen[id]) << round << " " << id;
      } else if (expected[id] > 2e-3) {
        EXPECT_TRUE(seen[id]) << round << " " << id;
      }
    }
  }
}

TEST(Sampler, HandlesAFullVocabulary) {
  std::mt19937_64 random(5);
  const std::vector<float> logits = random_logits(random, 129280, false);
  for (const Case& test : {Case{1.0F, 0.95F, 0, 0.0F}, Case{0.7F, 0.9F, 50, 0.02F},
                           Case{1.0F, 1.0F, 0, 0.0F}, Case{1.0F, 1.0F, 129279, 0.0F}}) {
    SamplingRow row = make_row(test.temperature);
    row.params.top_p = test.top_p;
    row.params.top_k = test.top_k;
    row.params.min_p = test.min_p;
    const std::vector<double> expected = slow_distribution(row, logits);
    for (row.position = 0; row.position < 20; ++row.position) {
      EXPECT_GT(expected[static_cast<size_t>(token(row, logits))], 0.0);
    }
  }
}

// ---- Determinism.

TEST(Sampler, DrawsTheSameWhateverItDidBefore) {
  std::mt19937_64 random(9);
  std::vector<SamplingRow> rows;
  std::vector<std::vector<float>> logits;
  for (int i = 0; i < 20; ++i) {
    SamplingRow row = make_row(i % 4 == 0 ? 0.0F : 1.0F);
    row.params.top_k = i % 5;
    row.params.top_p = i % 3 == 0 ? 0.8F : 1.0F;
    row.params.logprobs = i % 2 == 0;
    row.params.top_logprobs = i % 2 == 0 ? 5 : 0;
    row.seed = static_cast<uint64_t>(i);
    row.position = i;
    rows.push_back(row);
    logits.push_back(random_logits(random, 200, i % 2 == 0));
  }
  std::vector<TokenId> alone;
  for (size_t i = 0; i < rows.size(); ++i) {
    alone.push_back(token(rows[i], logits[i]));
  }
  Sampler shared;
  for (size_t i = rows.size(); i-- > 0;) {
    std::vector<float> copy = logits[i];
    EXPECT_EQ(shared.sample(rows[i], copy).tokens[0], alone[i]);
  }
}

TEST(Sampler, DrawsAnotherTokenForAnotherSeedOrPosition) {
  const std::vector<float> flat(1000, 0.0F);
  SamplingRow row = make_row(1.0F);
  const TokenId first = token(row, flat);
  row.position = 2;
  const TokenId later = token(row, flat);
  row.position = 1;
  row.seed = 2;
  const TokenId other = token(row, flat);
  EXPECT_NE(first, later);
  EXPECT_NE(first, other);
  EXPECT_EQ(first, static_cast<TokenId>(uniform_draw(1, 1) * 1000));
}

// ---- What is reported.

TEST(Sampler, ReportsLogProbabilitiesOfTheRawLogits) {
  const std::vector<float> logits = {1.0F, 2.0F, 0.5F, 2.0F};
  SamplingRow row = make_row(0.0F);
  row.params.temperature = 0.0F;
  row.params.logprobs = true;
  row.params.top_logprobs = 3;
  row.params.logit_bias = {{2, 50.0F}};  // chosen because of it, reported without it
  const SequenceOutput output = sample(row, logits);
  ASSERT_THAT(output.logprobs, SizeIs(1));
  const double normalizer = std::log(std::exp(1.0) + 2 * std::exp(2.0) + std::exp(0.5));
  EXPECT_EQ(output.logprobs[0].chosen.token, 2);
  EXPECT_NEAR(output.logprobs[0].chosen.logprob, 0.5 - normalizer, 1e-6);
  ASSERT_THAT(output.logprobs[0].top, SizeIs(3));
  EXPECT_EQ(output.logprobs[0].top[0].token, 1);  // ties: smaller id first
  EXPECT_EQ(output.logprobs[0].top[1].token, 3);
  EXPECT_EQ(output.logprobs[0].top[2].token, 0);
  EXPECT_NEAR(output.logprobs[0].top[0].logprob, 2.0 - normalizer, 1e-6);
  EXPECT_NEAR(output.logprobs[0].top[2].logprob, 1.0 - normalizer, 1e-6);
}

TEST(Sampler, ReportsTheBestTokensInOrder) {
  std::mt19937_64 random(21);
  for (const size_t vocab_size : {3U, 20U, 500U, 5000U}) {
    const std::vector<float> logits = random_logits(random, vocab_size, vocab_size % 2 == 0);
    SamplingRow row = make_row(1.0F);
    row.params.logprobs = true;
    row.params.top_logprobs = 20;
    const auto output = sample(row, logits);
    std::vector<TokenId> order(vocab_size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    order.resize(std::min<size_t>(20, vocab_size));
    std::vector<TokenId> got;
    for (const TokenLogprob& entry : output.logprobs[0].top) {
      got.push_back(entry.token);
    }
    EXPECT_EQ(got, order);
  }
}

TEST(Sampler, LeavesImpossibleTokensOutOfTheReport) {
  SamplingRow row = make_row(1.0F);
  row.params.logprobs = true;
  row.params.top_logprobs = 20;
  const SequenceOutput output = sample(row, {-kInfinity, 1.0F, -kInfinity});
  ASSERT_THAT(output.logprobs[0].top, SizeIs(1));
  EXPECT_EQ(output.logprobs[0].top[0].token, 1);
  EXPECT_NEAR(output.logprobs[0].top[0].logprob, 0.0F, 1e-6F);
}

TEST(Sampler, ReportsNoLogProbabilitiesUnasked) {
  EXPECT_THAT(sample(make_row(0.0F), {1.0F, 2.0F}).logprobs, IsEmpty());
}

TEST(Sampler, ReportsProbedLogitsInTheirOrder) {
  SamplingRow row = make_row(0.0F);
  row.probe_logits = {2, 0};
  row.params.logit_bias = {{2, 50.0F}};
  EXPECT_THAT(sample(row, {1.0F, 2.0F, 3.0F}).probe_logits, ElementsAre(3.0F, 1.0F));
}

TEST(Sampler, TakesAForcedTokenAndReportsItsOwnProbability) {
  for (const float temperature : {0.0F, 1.0F}) {
    SamplingRow row = make_row(temperature);
    row.forced = 2;
    row.banned = {2};
    row.params.logit_bias = {{1, 50.0F}, {2, -50.0F}};
    row.params.logprobs = true;
    row.params.top_logprobs = 1;
    const SequenceOutput output = sample(row, {0.0F, 0.0F, 0.0F, 0.0F});
    EXPECT_THAT(output.tokens, ElementsAre(2));
    ASSERT_THAT(output.logprobs, SizeIs(1));
    EXPECT_EQ(output.logprobs[0].chosen.token, 2);
    EXPECT_NEAR(output.logprobs[0].chosen.logprob, std::log(0.25), 1e-6);
  }
}

TEST(Sampler, ReportsAForcedTokenThatTheModelRulesOutAsImpossible) {
  SamplingRow row = make_row(1.0F);
  row.forced = 1;
  row.params.logprobs = true;
  const SequenceOutput output = sample(row, {0.0F, -kInfinity});
  EXPECT_THAT(output.tokens, ElementsAre(1));
  EXPECT_EQ(output.logprobs[0].chosen.logprob, -kInfinity);
}

TEST(Sampler, ForcesNothingOnBrokenLogits) {
  SamplingRow row = make_row(1.0F);
  row.forced = 1;
  EXPECT_FALSE(sample(row, {kInfinity, 0.0F}).error.is_ok());
}

}  // namespace
}  // namespace deepinfer::engine
