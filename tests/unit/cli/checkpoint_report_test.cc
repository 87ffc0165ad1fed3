#include "cli/checkpoint_report.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace deepinfer::cli {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFirstShard = "model-00001-of-00002.safetensors";
constexpr const char* kSecondShard = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// A copy of a golden checkpoint that a test may damage.
class CheckpointReportTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ =
        fs::temp_directory_path() / ("deepinfer-inspect-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(dir_);
    fs::copy("tests/data/tiny-a", dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  CheckpointReport inspect() const { return inspect_checkpoint(dir_.string(), dir_.string()); }

  template <typename Change>
  void edit_json(const char* file, Change change) {
    nlohmann::ordered_json json;
    std::ifstream(dir_ / file) >> json;
    change(json);
    std::ofstream(dir_ / file) << json;
  }

  fs::path dir_;
};

TEST_F(CheckpointReportTest, FindsNothingWrongWithAGoldenCheckpoint) {
  const CheckpointReport report = inspect();
  EXPECT_THAT(report.problems, IsEmpty());
  ASSERT_TRUE(report.config.has_value());
  EXPECT_EQ(report.shards.size(), 2U);
  EXPECT_TRUE(report.has_draft_weights);
}

TEST_F(CheckpointReportTest, CountsEveryByteOnce) {
  const CheckpointReport report = inspect();
  int64_t in_shards = 0;
  for (const ShardSummary& shard : report.shards) {
    in_shards += shard.bytes;
  }
  int64_t in_parts = 0;
  for (const PartSummary& part : report.parts) {
    EXPECT_NE(part.name, kUnusedPart);
    in_parts += part.bytes;
  }
  EXPECT_EQ(in_shards, in_parts);
  EXPECT_EQ(in_parts, 3703108);  // metadata.total_size of the index
}

TEST_F(CheckpointReportTest, ReportsAMissingDirectory) {
  EXPECT_THAT(inspect_checkpoint("no/such/dir", "no/such/dir").problems,
              ElementsAre(HasSubstr("no/such/dir")));
}

TEST_F(CheckpointReportTest, ReportsAMissingShardAndWhatItHeld) {
  fs::remove(dir_ / kSecondShard);
  const CheckpointReport report = inspect();
  EXPECT_THAT(report.problems, Contains(HasSubstr(kSecondShard)));
  EXPECT_THAT(report.problems, Contains(HasSubstr("tensors missing")));
  EXPECT_EQ(report.shards.size(), 1U);
}

TEST_F(CheckpointReportTest, ReportsATruncatedShard) {
  fs::resize_file(dir_ / kFirstShard, fs::file_size(dir_ / kFirstShard) / 2);
  EXPECT_THAT(inspect().problems, Contains(HasSubstr(kFirstShard)));
}

TEST_F(CheckpointReportTest, ReportsABrokenConfigAndStillWeighsTheFiles) {
  std::ofstream(dir_ / "config.json") << "{";
  const CheckpointReport report = inspect();
  EXPECT_THAT(report.problems, Contains(HasSubstr("config.json")));
  EXPECT_FALSE(report.config.has_value());
  EXPECT_EQ(report.shards.size(), 2U);
  ASSERT_EQ(report.parts.size(), 1U);
  EXPECT_EQ(report.parts[0].bytes, 3703108);
}

TEST_F(CheckpointReportTest, ReportsAMissingTokenizer) {
  fs::remove(dir_ / "tokenizer.json");
  EXPECT_THAT(inspect().problems, Contains(HasSubstr("tokenizer.json")));
}

TEST_F(CheckpointReportTest, ReportsTensorsOfAnotherShape) {
  edit_json("config.json", [](auto& json) { json["text_config"]["q_lora_rank"] = 32; });
  EXPECT_THAT(inspect().problems,
              Contains(HasSubstr("layers.0.attn.wq_a.weight: expected F8_E4M3 [32, 128], found "
                                 "F8_E4M3 [64, 128]")));
}

TEST_F(CheckpointReportTest, ReportsTensorsTheConfigAsksForInVain) {
  edit_json("config.json", [](auto& json) { json["text_config"]["n_routed_experts"] = 9; });
  EXPECT_THAT(inspect().problems, Contains(HasSubstr("experts: 48 tensors missing: ")));
}

TEST_F(CheckpointReportTest, ReportsAnIndexThatLies) {
  edit_json(kIndex, [](auto& json) { json["weight_map"]["no.such.weight"] = kFirstShard; });
  EXPECT_THAT(inspect().problems, ElementsAre(HasSubstr("no.such.weight is not in it")));
}

TEST_F(CheckpointReportTest, RefusesAnIndexThatLeavesTheDirectory) {
  edit_json(kIndex,
            [](auto& json) { json["weight_map"]["embed.weight"] = "../other.safetensors"; });
  EXPECT_THAT(inspect().problems, Contains(HasSubstr("embed.weight: expected a file name")));
}

TEST_F(CheckpointReportTest, ReportsABrokenIndex) {
  std::ofstream(dir_ / kIndex) << "[]";
  EXPECT_THAT(inspect().problems, Contains(HasSubstr("weight_map")));
}

TEST_F(CheckpointReportTest, ReadsTheFilesThemselvesWithoutAnIndex) {
  fs::remove(dir_ / kIndex);
  const CheckpointReport report = inspect();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.shards.size(), 2U);
}

TEST_F(CheckpointReportTest, ReportsADirectoryWithoutWeights) {
  fs::remove(dir_ / kIndex);
  fs::remove(dir_ / kFirstShard);
  fs::remove(dir_ / kSecondShard);
  EXPECT_THAT(inspect().problems, Contains(HasSubstr("no weights")));
}

}  // namespace
}  // namespace deepinfer::cli
