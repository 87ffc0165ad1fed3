#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class MoeGateTest : public KernelTest {
 protected:
  struct Routing {
    std::vector<int32_t> ids;
    std::vector<float> weights;
  };

  Routing route(const std::vector<float>& x, const std::vector<uint16_t>& weight,
                const std::vector<float>& bias, int64_t tokens, int32_t top_k,
                bool normalize = true) {
    Routing routing;
    routing.ids.resize(static_cast<size_t>(tokens * top_k), -1);
    routing.weights.resize(routing.ids.size());
    const int64_t hidden = static_cast<int64_t>(weight.size()) / static_cast<int64_t>(bias.size());
    ops.moe_gate(threaded, {.x = x.data(),
                            .weight = weight.data(),
                            .bias = bias.data(),
                            .num_tokens = tokens,
                            .hidden_size = hidden,
                            .num_experts = static_cast<int64_t>(bias.size()),
                            .top_k = top_k,
                            .normalize = normalize,
                            .scaling_factor = 1.5f,
                            .ids = routing.ids.data(),
                            .weights = routing.weights.data()});
    return routing;
  }
};

TEST_P(MoeGateTest, MatchesDoublePrecision) {
  for (const int64_t experts : {8, 37, 384}) {
    for (const int64_t tokens : {0, 1, 5, 300}) {
      for (const bool normalize : {false, true}) {
        const int64_t hidden = 70;
        const int32_t top_k = 3;
        const auto x = normal(tokens * hidden);
        const auto weight = normal_bf16(experts * hidden);
        const auto bias = normal(experts, 2.0);
        const Routing routing = route(x, weight, bias, tokens, top_k, normalize);
        for (int64_t t = 0; t < tokens; ++t) {
          std::vector<double> score(static_cast<size_t>(experts));
          for (int64_t e = 0; e < experts; ++e) {
            double z = 0;
            for (int64_t i = 0; i < hidden; ++i) {
              z += x[static_cast<size_t>(t * hidden + i)] *
                   bf16_value(weight[static_cast<size_t>(e * hidden + i)]);
            }
            score[static_cast<size_t>(e)] = std::sqrt(std::log1p(std::exp(z)));
          }
          const auto* ids = &routing.ids[static_cast<size_t>(t * top_k)];
          double sum = 1e-20;
          double previous = INFINITY;
          for (int32_t i = 0; i < top_k; ++i) {
            const auto id = static_cast<size_t>(ids[i]);
            ASSERT_LT(id, score.size());
            // Best first, up to rounding.
            ASSERT_LT(score[id] + bias[id], previous + 1e-5);
            previous = score[id] + bias[id];
            sum += score[id];
          }
          size_t better = 0;
          for (size_t e = 0; e < score.size(); ++e) {
            better += score[e] + bias[e] > previous + 1e-5 ? 1 : 0;
          }
          ASSERT_LT(better, static_cast<size_t>(top_k)) << "a better expert was left out";
          for (int32_t i = 0; i < top_k; ++i) {
            const double want = score[static_cast<size_t>(ids[i])] / (normalize ? sum : 1.0) * 1.5;
            ASSERT_NEAR(routing.weights[static_cast<size_t>(t * top_k + i)], want,
                        1e-5 * (1 + want));
          }
        }
      }
    }
  }
}

TEST_P(MoeGateTest, TiesGoToTheSmallerExpert) {
  const std::vector<uint16_t> weight(6 * 4, bf16_bits(0.0));
  const std::vector<float> x = {1, 2, 3, 4};
  EXPECT_EQ(route(x, weight, {0, 0, 0, 0, 0, 0}, 1, 3).ids, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(route(x, weight, {0, 1, 0, 1, 2, 1}, 1, 3).ids, (std::vector<int32_t>{4, 1, 3}));
}

TEST_P(MoeGateTest, BiasSelectsButDoesNotWeigh) {
  const std::vector<uint16_t> weight(3 * 4, bf16_bits(0.0));
  const Routing routing = route({1, 1, 1, 1}, weight, {0, 50, 100}, 1, 2);
  EXPECT_EQ(routing.ids, (std::vector<int32_t>{2, 1}));
  EXPECT_FLOAT_EQ(routing.weights[0], 0.75f);
  EXPECT_FLOAT_EQ(routing.weights[1], 0.75f);
}

// softplus(-200) underflows to 0: the floor of 1e-20 keeps the quotient a number.
TEST_P(MoeGateTest, SurvivesVanishingAndHugeScores) {
  const std::vector<uint16_t> weight = {bf16_bits(-1.0), bf16_bits(-1.0), bf16_bits(1.0)};
  const Routing none = route({200}, {weight[0], weight[1]}, {0, 0}, 1, 2);
  EXPECT_EQ(none.weights[0], 0.0f);
  EXPECT_EQ(none.weights[1], 0.0f);
  const Routing huge = route({400}, weight, {0, 0, 0}, 1, 2, false);
  EXPECT_EQ(huge.ids, (std::vector<int32_t>{2, 0}));
  EXPECT_FLOAT_EQ(huge.weights[0], 30.0f);
}

TEST_P(MoeGateTest, OneExpertIsNotNormalised) {
  const std::vector<uint16_t> weight = {bf16_bits(0.0), bf16_bits(0.0)};
  const Routing routing = route({1}, weight, {0, 0}, 1, 1);
  EXPECT_FLOAT_EQ(routing.weights[0], 1.5f * std::sqrt(std::log(2.0f)));
}

TEST_P(MoeGateTest, GivesValidDistinctExpertsEvenForNaN) {
  const std::vector<uint16_t> weight = {bf16_bits(1.0), bf16_bits(1.0), bf16_bits(1.0)};
  EXPECT_EQ(route({NAN}, weight, {0, 0, 0}, 1, 2).ids, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(route({1}, weight, {NAN, 0, 0}, 1, 3).ids, (std::vector<int32_t>{1, 2, 0}));
}

DI_FOR_EACH_VARIANT(MoeGateTest);

}  // namespace
}  // namespace deepinfer::kernels
