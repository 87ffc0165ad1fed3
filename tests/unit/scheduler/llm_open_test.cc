// Llm::open on the bundled checkpoints: everything between a request and the kernels.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "deepinfer/llm.h"
#include "engine/memory_plan.h"
#include "model/kv_cache.h"

namespace deepinfer {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

struct GoldenPrompt {
  std::string name;
  std::vector<TokenId> ids;
  std::vector<TokenId> greedy;
  // Raw logits at the last prompt position.
  std::vector<std::pair<TokenId, float>> probes;
};

std::vector<GoldenPrompt> load_golden(const std::string& model_dir) {
  std::ifstream file(model_dir + "/golden.json");
  const auto golden = nlohmann::json::parse(file);
  std::vector<GoldenPrompt> prompts;
  for (const auto& entry : golden.at("prompts")) {
    GoldenPrompt prompt{.name = entry.at("name"),
                        .ids = entry.at("ids"),
                        .greedy = entry.at("greedy"),
                        .probes = {}};
    const auto& last = entry.at("logits").back();
    EXPECT_EQ(last.at("position").get<size_t>(), prompt.ids.size() - 1);
    prompt.probes = last.at("probes").get<std::vector<std::pair<TokenId, float>>>();
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

EngineConfig small_engine(const std::string& model_dir) {
  EngineConfig config;
  config.model_dir = model_dir;
  config.kernel_variant = "reference";
  config.num_threads = 2;
  config.scheduler.max_num_seqs = 8;
  config.max_model_len = 512;
  config.scheduler.max_num_batched_tokens = 512;
  return config;
}

// Opens faster: the steps that a start tries out are small.
EngineConfig small_steps(const std::string& model_dir) {
  EngineConfig config = small_engine(model_dir);
  config.scheduler.max_num_batched_tokens = 64;
  return config;
}

GenerateRequest greedy_request(const GoldenPrompt& golden) {
  GenerateRequest request;
  request.prompt = golden.ids;
  request.max_tokens = static_cast<int32_t>(golden.greedy.size());
  request.sampling.temperature = 0.0F;
  request.ignore_eos = true;
  for (const auto& [token, logit] : golden.probes) {
    request.probe_logits.push_back(token);
  }
  return request;
}

TokenOutput collect(OutputStream& stream) {
  TokenOutput all;
  for (;;) {
    StreamEvent event = stream.wait_for(1h);
    if (std::holds_alternative<StreamEnd>(event)) {
      return all;
    }
    TokenOutput output = std::get<TokenOutput>(std::move(event));
    output.tokens.insert(output.tokens.begin(), all.tokens.begin(), all.tokens.end());
    if (!all.probe_logits.empty()) {
      output.probe_logits = all.probe_logits;
    }
    all = std::move(output);
  }
}

std::unique_ptr<Llm> open_or_fail(const EngineConfig& config) {
  auto llm = Llm::open(config);
  EXPECT_TRUE(llm.has_value()) << llm.status().message();
  return llm.has_value() ? std::move(llm).value() : nullptr;
}

// Bounds of probed logits: float32 throughout, but vector kernels sum in another order.
constexpr float kReferenceTolerance = 2e-4F;
constexpr float kVectorTolerance = 2e-3F;

void expect_golden(Llm& llm, const std::vector<GoldenPrompt>& prompts, float tolerance) {
  std::vector<std::unique_ptr<OutputStream>> streams;
  for (const GoldenPrompt& golden : prompts) {
    auto stream = llm.submit(greedy_request(golden));
    ASSERT_TRUE(stream.has_value()) << stream.status().message();
    streams.push_back(std::move(stream).value());
  }
  for (size_t i = 0; i < prompts.size(); ++i) {
    const TokenOutput output = collect(*streams[i]);
    EXPECT_EQ(output.tokens, prompts[i].greedy) << prompts[i].name;
    ASSERT_EQ(output.probe_logits.size(), prompts[i].probes.size()) << prompts[i].name;
    for (size_t k = 0; k < prompts[i].probes.size(); ++k) {
      EXPECT_NEAR(output.probe_logits[k], prompts[i].probes[k].second, tolerance)
          << prompts[i].name;
    }
  }
}

class OpenedModel : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string model_dir_ = GetParam();
};

TEST_P(OpenedModel, GivesTheGoldenTokensForEveryChunking) {
  const auto prompts = load_golden(model_dir_);
  ASSERT_FALSE(prompts.empty());
  for (const int32_t chunk : {1, 7, 64, 0}) {
    SCOPED_TRACE(chunk);
    EngineConfig config = small_engine(model_dir_);
    config.scheduler.prefill_chunk_tokens = chunk;
    const auto llm = open_or_fail(config);
    ASSERT_NE(llm, nullptr);
    expect_golden(*llm, prompts, kReferenceTolerance);
    EXPECT_EQ(llm->stats().preemptions, 0U);
  }
}

TEST_P(OpenedModel, GivesTheGoldenTokensWhenSequencesArePreempted) {
  const auto prompts = load_golden(model_dir_);
  auto model = model::load_model_config(model_dir_);
  ASSERT_TRUE(model.has_value());
  EngineConfig config = small_engine(model_dir_);
  config.kernel_variant.clear();  // the best of this machine
  config.block_size = 8;
  config.max_model_len = 0;  // what the blocks hold
  // The longest prompt with its output fits, all prompts with theirs do not.
  int64_t longest = 0;
  for (const GoldenPrompt& golden : prompts) {
    longest = std::max(longest, static_cast<int64_t>(golden.ids.size() + golden.greedy.size()));
  }
  const int64_t num_blocks = longest / config.block_size + 14;
  config.kv_cache_memory_bytes =
      num_blocks * model::kv_bytes_per_block(*model, config.block_size) +
      config.scheduler.max_num_seqs * model::kv_bytes_per_slot(*model, config.max_rollback);
  const auto llm = open_or_fail(config);
  ASSERT_NE(llm, nullptr);
  EXPECT_EQ(llm->stats().blocks_total, num_blocks);
  std::vector<GoldenPrompt> crowd = prompts;
  crowd.insert(crowd.end(), prompts.begin(), prompts.end());
  expect_golden(*llm, crowd, kVectorTolerance);
  EXPECT_GT(llm->stats().preemptions, 0U);
  EXPECT_EQ(llm->stats().blocks_used, 0);
}

TEST_P(OpenedModel, GivesEveryOpenEngineTheSameFingerprint) {
  const auto llm = open_or_fail(small_steps(model_dir_));
  const auto again = open_or_fail(small_steps(model_dir_));
  ASSERT_TRUE(llm != nullptr && again != nullptr);
  EXPECT_FALSE(llm->model().system_fingerprint.empty());
  EXPECT_EQ(llm->model().system_fingerprint, again->model().system_fingerprint);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, OpenedModel,
                         ::testing::Values("tests/data/tiny-a", "tests/data/tiny-b"));

TEST(LlmOpen, L02_SamplesTheSameForTheSameSeedWhateverElseRuns) {
  const auto prompts = load_golden("tests/data/tiny-a");
  const auto llm = open_or_fail(small_steps("tests/data/tiny-a"));
  ASSERT_NE(llm, nullptr);
  GenerateRequest request = greedy_request(prompts[1]);
  request.sampling.temperature = 1.2F;
  request.sampling.top_p = 0.9F;
  request.sampling.seed = 99;
  const auto alone = collect(**llm->submit(request)).tokens;
  std::vector<std::unique_ptr<OutputStream>> others;
  for (const GoldenPrompt& golden : prompts) {
    others.push_back(std::move(llm->submit(greedy_request(golden))).value());
  }
  EXPECT_EQ(collect(**llm->submit(request)).tokens, alone);
  request.sampling.seed = 100;
  EXPECT_NE(collect(**llm->submit(request)).tokens, alone);
}

TEST(LlmOpen, ReportsLogProbabilitiesThatAddUp) {
  const auto llm = open_or_fail(small_steps("tests/data/tiny-a"));
  ASSERT_NE(llm, nullptr);
  GenerateRequest request;
  request.prompt = {5, 6, 7};
  request.sampling.temperature = 0.0F;
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 20;
  const StreamEvent event = (*llm->submit(request))->wait_for(1h);
  const TokenOutput& output = std::get<TokenOutput>(event);
  ASSERT_EQ(output.logprobs.size(), 1U);
  const PositionLogprobs& position = output.logprobs[0];
  ASSERT_EQ(position.top.size(), 20U);
  EXPECT_EQ(position.top[0].token, position.chosen.token);
  double mass = 0;
  for (const TokenLogprob& entry : position.top) {
    mass += std::exp(static_cast<double>(entry.logprob));
  }
  EXPECT_GT(mass, 0.1);
  EXPECT_LE(mass, 1.0 + 1e-5);
}

TEST(LlmOpen, SaysWhatIsWrongWithTheConfiguration) {
  EngineConfig config = small_engine("tests/data/no-such-model");
  EXPECT_EQ(Llm::open(config).error().code(), StatusCode::kNotFound);

  config = small_engine("tests/data/tiny-a");
  config.max_model_len = 1 << 20;
  EXPECT_THAT(Llm::open(config).error().message(), HasSubstr("--max-model-len: 1048576"));

  config = small_engine("tests/data/tiny-a");
  config.kernel_variant = "quantum";
  EXPECT_EQ(Llm::open(config).error().code(), StatusCode::kInvalidArgument);

  config = small_engine("tests/data/tiny-a");
  config.parallel = {.data = 2, .context = 2, .expert = 0};
  const Status several = Llm::open(config).error();
  EXPECT_EQ(several.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(several.message(), HasSubstr("--data-parallel-size 2"));
  EXPECT_THAT(several.message(), HasSubstr("--context-parallel-size 2"));
  EXPECT_THAT(several.message(), HasSubstr("--expert-parallel-size 4"));

  config = small_engine("tests/data/tiny-a");
  config.kv_cache_memory_bytes = 1000;
  EXPECT_EQ(Llm::open(config).error().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace deepinfer
