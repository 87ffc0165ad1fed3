#include "model/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/model.h"
#include "tests/golden/checkpoint_copy.h"
#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

using testing::HasSubstr;

const TensorSpec kBias = {.name = "bias", .format = TensorFormat::kF32, .shape = {2}};
const TensorSpec kNorm = {.name = "norm", .format = TensorFormat::kBF16, .shape = {3}};
const TensorSpec kExpert = {.name = "e.weight", .format = TensorFormat::kFp4Rows, .shape = {2, 64}};
const TensorSpec kLinear = {
    .name = "l.weight", .format = TensorFormat::kFp8Tiles, .shape = {33, 40}};

std::vector<TinyTensor> expert_tensors() {
  return {{"e.weight", "I8", {2, 32}, ""}, {"e.scale", "F8_E8M0", {2, 2}, "abcd"}};
}

std::string index_of(const std::map<std::string, std::string>& shard_of) {
  return nlohmann::json({{"weight_map", shard_of}}).dump();
}

std::string error_of(const TempDir& dir) {
  const auto store = WeightStore::open(dir.path());
  return store.has_value() ? "no error" : store.error().message();
}

TEST(WeightStore, LendsScaledMatrices) {
  const TempDir dir;
  std::vector<TinyTensor> tensors = expert_tensors();
  tensors.push_back({"l.weight", "F8_E4M3", {33, 40}, ""});
  tensors.push_back({"l.scale", "F8_E8M0", {2, 2}, ""});
  dir.write("model.safetensors", safetensors_bytes(tensors));
  const auto store = WeightStore::open(dir.path());
  ASSERT_TRUE(store.has_value()) << store.error().message();
  const auto expert = (*store)->matrix(kExpert);
  ASSERT_TRUE(expert.has_value()) << expert.error().message();
  EXPECT_EQ(expert->dtype, kernels::DType::kF4E2M1);
  EXPECT_EQ(expert->rows, 2);
  EXPECT_EQ(expert->cols, 64);
  EXPECT_EQ(expert->scale_rows, 1);
  EXPECT_EQ(expert->scale[3], 'd');
  const auto linear = (*store)->matrix(kLinear);
  ASSERT_TRUE(linear.has_value()) << linear.error().message();
  EXPECT_EQ(linear->dtype, kernels::DType::kF8E4M3);
  EXPECT_EQ(linear->scale_rows, 32);
}

TEST(WeightStore, AlignsWhatTheFileDoesNot) {
  const TempDir dir;
  const std::string floats("\0\0\x80\x3f\0\0\0\x40", 8);
  for (size_t gap = 0; gap < 4; ++gap) {
    dir.write("model.safetensors", safetensors_bytes({{"bias", "F32", {2}, floats},
                                                      {"norm",
                                                       "BF16",
                                                       {3},
                                                       "\x80\x3f"
                                                       "abcd"}},
                                                     gap));
    const auto store = WeightStore::open(dir.path());
    ASSERT_TRUE(store.has_value());
    const float* bias = *(*store)->f32(kBias);
    EXPECT_EQ(bias[0], 1.0F);
    EXPECT_EQ(bias[1], 2.0F);
    EXPECT_EQ((*(*store)->bf16(kNorm))[0], 0x3f80);
  }
}

TEST(WeightStore, NamesWrongTypesShapesAndScales) {
  const TempDir dir;
  dir.write("model.safetensors", safetensors_bytes({{"bias", "BF16", {2}, ""},
                                                    {"norm", "BF16", {4}, ""},
                                                    {"e.weight", "I8", {2, 32}, ""},
                                                    {"e.scale", "F8_E8M0", {2, 1}, ""},
                                                    {"l.weight", "F8_E4M3", {33, 40}, ""}}));
  const auto store = WeightStore::open(dir.path());
  ASSERT_TRUE(store.has_value());
  EXPECT_THAT((*store)->f32(kBias).error().message(),
              HasSubstr("model.safetensors: tensor bias: expected F32 [2], found BF16 [2]"));
  EXPECT_THAT((*store)->bf16(kNorm).error().message(),
              HasSubstr("expected BF16 [3], found BF16 [4]"));
  EXPECT_THAT((*store)->matrix(kExpert).error().message(),
              HasSubstr("tensor e.scale: expected F8_E8M0 [2, 2], found F8_E8M0 [2, 1]"));
  EXPECT_THAT((*store)->matrix(kLinear).error().message(), HasSubstr("tensor l.scale is missing"));
  EXPECT_FALSE((*store)->contains(kLinear));
  const auto problems = (*store)->problems({kBias, kNorm, kExpert, kLinear});
  EXPECT_EQ(problems.size(), 4U);
  EXPECT_THAT((*store)->check({kBias, kNorm}).message(), HasSubstr("(and 1 more such tensors)"));
}

TEST(WeightStore, NamesUnknownTypeOnlyWhenItIsNeeded) {
  const TempDir dir;
  dir.write("model.safetensors",
            raw_safetensors(R"({"bias":{"dtype":"F6_X","shape":[2],"data_offsets":[0,1]}})", "1"));
  const auto store = WeightStore::open(dir.path());
  ASSERT_TRUE(store.has_value()) << store.error().message();
  EXPECT_THAT((*store)->check({kBias}).message(), HasSubstr("expected F32 [2], found F6_X [2]"));
}

TEST(WeightStore, OptionalTensorsMayBeMissingButNotWrong) {
  TensorSpec optional = kBias;
  optional.required = false;
  const TempDir dir;
  dir.write("model.safetensors", safetensors_bytes({{"norm", "BF16", {3}, ""}}));
  EXPECT_TRUE((*WeightStore::open(dir.path()))->check({optional}).is_ok());
  dir.write("model.safetensors", safetensors_bytes({{"bias", "F32", {5}, ""}}));
  EXPECT_THAT((*WeightStore::open(dir.path()))->check({optional}).message(),
              HasSubstr("expected F32 [2], found F32 [5]"));
}

TEST(WeightStore, DropsModelPrefixAndSkipsVisionTower) {
  const TempDir dir;
  dir.write("a.safetensors", safetensors_bytes({{"model.bias", "F32", {2}, ""},
                                                {"model.vision.x", "F32", {1}, ""}}));
  dir.write("model.safetensors.index.json",
            index_of({{"model.bias", "a.safetensors"},
                      {"model.vision.x", "vision-only.safetensors"},
                      {"aligner.y", "vision-only.safetensors"},
                      {"image_newline", "vision-only.safetensors"}}));
  const auto store = WeightStore::open(dir.path());
  ASSERT_TRUE(store.has_value()) << store.error().message();
  EXPECT_EQ((*store)->num_shards(), 1);
  EXPECT_TRUE((*store)->contains(kBias));
}

TEST(WeightStore, D01_FailsOnMissingShardsAndTensors) {
  const TempDir dir;
  dir.write("a.safetensors", safetensors_bytes({{"bias", "F32", {2}, ""}}));
  dir.write("model.safetensors.index.json",
            index_of({{"bias", "a.safetensors"}, {"norm", "b.safetensors"}}));
  EXPECT_THAT(error_of(dir), HasSubstr("/b.safetensors: cannot be opened"));
  dir.write("model.safetensors.index.json",
            index_of({{"bias", "a.safetensors"}, {"norm", "a.safetensors"}}));
  EXPECT_THAT(error_of(dir), HasSubstr("/a.safetensors: tensor norm is missing"));
}

TEST(WeightStore, D01_FailsOnTensorsStoredTwice) {
  const TempDir dir;
  dir.write("a.safetensors", safetensors_bytes({{"bias", "F32", {2}, ""}}));
  dir.write("b.safetensors",
            safetensors_bytes({{"norm", "BF16", {3}, ""}, {"bias", "F32", {2}, ""}}));
  dir.write("model.safetensors.index.json",
            index_of({{"bias", "a.safetensors"}, {"norm", "b.safetensors"}}));
  EXPECT_THAT(error_of(dir),
              testing::AllOf(HasSubstr("tensor bias is stored twice"), HasSubstr("a.safetensors"),
                             HasSubstr("b.safetensors")));
  dir.write("model.safetensors.index.json",
            index_of({{"bias", "a.safetensors"}, {"model.bias", "a.safetensors"}}));
  EXPECT_NE(error_of(dir), "no error");
}

TEST(WeightStore, FailsOnDamagedIndexFiles) {
  const TempDir dir;
  for (const char* index : {"", "[]", "{}", R"({"weight_map":5})", R"({"weight_map":{}})",
                            R"({"weight_map":{"bias":5}})", R"({"weight_map":{"bias":""}})",
                            R"({"weight_map":{"bias":"../up.safetensors"}})",
                            R"({"weight_map":{"bias":"/etc/passwd"}})"}) {
    dir.write("model.safetensors.index.json", index);
    EXPECT_THAT(error_of(dir), HasSubstr("model.safetensors.index.json")) << index;
  }
}

TEST(WeightStore, SaysWhatItLookedForAndFound) {
  const TempDir dir;
  EXPECT_THAT(
      error_of(dir),
      HasSubstr("expected model.safetensors.index.json or model.safetensors, found nothing"));
  dir.write("pytorch_model.bin", "x");
  dir.write("config.json", "{}");
  EXPECT_THAT(error_of(dir), HasSubstr("found config.json, pytorch_model.bin"));
  const auto gone = WeightStore::open(dir.path() + "/gone");
  EXPECT_EQ(gone.error().code(), StatusCode::kNotFound);
  dir.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  EXPECT_THAT(error_of(dir), HasSubstr("Git LFS pointer"));
}

/// Whole-model loading stops before anything runs and names the part at fault.
class ModelLoad : public testing::Test {
 protected:
  ModelLoad() : device_(*device::make_cpu_device("reference", 1)) {
    golden::copy_checkpoint("tests/data/tiny-b", dir_.path(),
                            [](const std::string& name) { return name; });
  }

  std::string load_error() {
    const auto model = Model::load(dir_.path(), dir_.path(), *device_);
    if (model.has_value()) {
      return "no error";
    }
    EXPECT_EQ(model.error().code(), StatusCode::kFailedPrecondition);
    return model.error().message();
  }

  /// Renames one tensor everywhere, so that the checkpoint lacks it.
  void rename(const std::string& from) {
    golden::copy_checkpoint("tests/data/tiny-b", dir_.path(), [&](const std::string& name) {
      return name == from ? "unused." + name : name;
    });
  }

  TempDir dir_;
  std::unique_ptr<device::Device> device_;
};

TEST_F(ModelLoad, CountsTheBytesOfTheTextModel) {
  const auto model = Model::load(dir_.path(), dir_.path(), *device_);
  ASSERT_TRUE(model.has_value()) << model.error().message();
  EXPECT_GT((*model)->weight_bytes(), 1000000);
  EXPECT_LT((*model)->weight_bytes(), 3500000);
}

TEST_F(ModelLoad, NamesMissingTensors) {
  rename("layers.3.ffn.experts.7.w2.scale");
  EXPECT_THAT(load_error(), HasSubstr("tensor layers.3.ffn.experts.7.w2.scale is missing"));
  rename("layers.0.hc_attn_base");
  EXPECT_THAT(load_error(), HasSubstr("tensor layers.0.hc_attn_base is missing"));
}

TEST_F(ModelLoad, RunsWithoutDraftStages) {
  golden::copy_checkpoint("tests/data/tiny-b", dir_.path(), [](const std::string& name) {
    return name.rfind("mtp.", 0) == 0 ? "unused." + name : name;
  });
  EXPECT_EQ(load_error(), "no error");
}

TEST_F(ModelLoad, NamesMissingShards) {
  std::filesystem::remove(dir_.path() + "/model-00002-of-00002.safetensors");
  EXPECT_THAT(load_error(), HasSubstr("model-00002-of-00002.safetensors: cannot be opened"));
}

TEST_F(ModelLoad, NamesTruncatedShards) {
  const std::string shard = dir_.path() + "/model-00002-of-00002.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  EXPECT_THAT(load_error(), HasSubstr("model-00002-of-00002.safetensors"));
}

TEST_F(ModelLoad, RefusesTokenizersOfOtherModels) {
  std::filesystem::copy_file("tests/data/tiny-a/tokenizer.json", dir_.path() + "/tokenizer.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(load_error(), HasSubstr("compressed vocabulary has 279 entries"));
}

}  // namespace
}  // namespace deepinfer::model
