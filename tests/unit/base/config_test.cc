#include "deepinfer/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace deepinfer {
namespace {

using ::testing::HasSubstr;

ParallelConfig sizes(int32_t data, int32_t context, int32_t expert) {
  return {.data = data, .context = context, .expert = expert};
}

void expect_sizes(const ParallelConfig& wanted, int32_t num_devices,
                  const ParallelConfig& expected) {
  const auto resolved = resolve_parallel(wanted, num_devices);
  ASSERT_TRUE(resolved.has_value()) << resolved.status().message();
  EXPECT_EQ(resolved->data, expected.data);
  EXPECT_EQ(resolved->context, expected.context);
  EXPECT_EQ(resolved->expert, expected.expert);
}

TEST(ResolveParallel, DerivesWhatIsNotSet) {
  expect_sizes(sizes(0, 0, 0), 8, sizes(8, 1, 8));
  expect_sizes(sizes(0, 0, 4), 8, sizes(4, 1, 4));
  expect_sizes(sizes(2, 4, 0), 8, sizes(2, 4, 8));
  expect_sizes(sizes(2, 0, 8), 8, sizes(2, 4, 8));
  expect_sizes(sizes(0, 2, 8), 8, sizes(4, 2, 8));
  expect_sizes(sizes(4, 0, 0), 8, sizes(4, 1, 4));
  expect_sizes(sizes(0, 2, 0), 8, sizes(1, 2, 2));
}

TEST(ResolveParallel, NamesTheThreeNumbersOfAContradiction) {
  for (const ParallelConfig& wanted : {sizes(2, 2, 8), sizes(3, 0, 8), sizes(0, 3, 8)}) {
    const auto resolved = resolve_parallel(wanted, 8);
    ASSERT_FALSE(resolved.has_value());
    EXPECT_THAT(resolved.error().message(), HasSubstr("--expert-parallel-size: 8"));
    EXPECT_THAT(resolved.error().message(), HasSubstr("--data-parallel-size"));
    EXPECT_THAT(resolved.error().message(), HasSubstr("--context-parallel-size"));
  }
  EXPECT_FALSE(resolve_parallel(sizes(-1, 0, 0), 8).has_value());
}

std::string first_fault(const std::function<void(ServerConfig&)>& change) {
  ServerConfig config;
  config.engine.model_dir = "model";
  change(config);
  return validate(config).message();
}

TEST(ValidateConfig, AcceptsTheDefaults) {
  EXPECT_EQ(first_fault([](ServerConfig&) {}), "");
}

TEST(ValidateConfig, NamesTheFirstBadFlag) {
  EXPECT_THAT(first_fault([](auto& config) { config.engine.model_dir.clear(); }),
              HasSubstr("MODEL_DIR"));
  EXPECT_THAT(first_fault([](auto& config) { config.engine.device = "tpu"; }), HasSubstr("tpu"));
  EXPECT_EQ(first_fault([](auto& config) { config.engine.scheduler.max_num_seqs = 0; }),
            "--max-num-seqs: 0 is not in 1..4096");
  EXPECT_EQ(first_fault([](auto& config) { config.engine.scheduler.max_num_seqs = 4097; }),
            "--max-num-seqs: 4097 is not in 1..4096");
  EXPECT_THAT(first_fault([](auto& config) { config.engine.scheduler.max_num_batched_tokens = 0; }),
              HasSubstr("--max-num-batched-tokens: 0"));
  EXPECT_THAT(first_fault([](auto& config) { config.engine.block_size = 1; }),
              HasSubstr("--block-size: 1"));
  EXPECT_THAT(first_fault([](auto& config) { config.engine.num_threads = -1; }),
              HasSubstr("--num-threads: -1"));
  EXPECT_THAT(first_fault([](auto& config) { config.http.port = 65536; }),
              HasSubstr("--port: 65536"));
  EXPECT_THAT(first_fault([](auto& config) {
                config.http.api_keys = {"a", ""};
              }),
              HasSubstr("--api-key"));
}

}  // namespace
}  // namespace deepinfer
