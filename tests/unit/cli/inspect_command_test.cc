#include "cli/inspect_command.h"

#include <gmock/gmock.h>

#include <string>

namespace deepinfer::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(InspectCommand, DescribesAGoldenCheckpoint) {
  const auto report = inspect_checkpoint("tests/data/tiny-a", "tests/data/tiny-a");
  const std::string text = format_report(report, EngineConfig{}, int64_t{3} << 30);
  EXPECT_THAT(text, HasSubstr("DeepseekV41ForCausalLM"));
  EXPECT_THAT(text, HasSubstr("8 of width 128, 4 streams"));
  EXPECT_THAT(text, HasSubstr("512 tokens"));
  EXPECT_THAT(text, HasSubstr("experts"));
  EXPECT_THAT(text, HasSubstr("of 3072.0 MiB available"));
  EXPECT_THAT(text, HasSubstr("no control tokens"));
  EXPECT_THAT(text, HasSubstr("complete: this directory can be served"));
}

TEST(InspectCommand, SaysWhatDoesNotFitIntoMemory) {
  const auto report = inspect_checkpoint("tests/data/tiny-a", "tests/data/tiny-a");
  EXPECT_THAT(format_report(report, {.kv_cache_memory_bytes = 1 << 20}, int64_t{3} << 30),
              HasSubstr("lower --max-num-seqs or raise --kv-cache-memory-bytes"));
}

TEST(InspectCommand, ListsProblemsOfADamagedCheckpoint) {
  CheckpointReport report;
  report.model_dir = "somewhere";
  report.problems = {"config.json: missing", "embed: 1 tensors missing: embed.weight"};
  const std::string text = format_report(report, EngineConfig{}, 0);
  EXPECT_THAT(text, HasSubstr("problems (2)\n  - config.json: missing\n"));
  EXPECT_THAT(text, Not(HasSubstr("complete:")));
}

}  // namespace
}  // namespace deepinfer::cli
