#include "model/tensor_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "model/safetensors.h"
#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

ModelConfig tiny() {
  return *parse_model_config(tiny_config().dump());
}

const TensorSpec* find(const std::vector<TensorSpec>& specs, const std::string& name) {
  const auto it = std::find_if(specs.begin(), specs.end(),
                               [&](const TensorSpec& spec) { return spec.name == name; });
  return it == specs.end() ? nullptr : &*it;
}

/// The generated checkpoints hold exactly what the specification lists.
TEST(TensorInventory, NamesEveryTensorOfTheTinyCheckpointsAndNoOther) {
  for (const std::string dir : {"tests/data/tiny-a", "tests/data/tiny-b"}) {
    std::map<std::string, std::pair<std::string, std::vector<int64_t>>> stored;
    for (const auto& entry : std::filesystem::directory_iterator(dir)) {
      if (entry.path().extension() == ".safetensors") {
        const auto file = SafetensorsFile::open(entry.path().string());
        ASSERT_TRUE(file.has_value()) << file.error().message();
        for (const auto& [name, tensor] : (*file)->tensors()) {
          stored[name] = {tensor.dtype, tensor.shape};
        }
      }
    }
    std::map<std::string, std::pair<std::string, std::vector<int64_t>>> listed;
    for (const TensorSpec& spec : tensor_inventory(*load_model_config(dir))) {
      for (const StoredSpec& part : spec.stored()) {
        listed[part.name] = {std::string(part.dtype), part.shape};
      }
    }
    EXPECT_EQ(listed, stored) << dir;
  }
}

TEST(TensorInventory, GivesSourcesTheirCompressorsAndIndexers) {
  const std::vector<TensorSpec> specs = tensor_inventory(tiny());
  EXPECT_NE(find(specs, "layers.2.attn.compressor.wgate.weight"), nullptr);
  EXPECT_EQ(find(specs, "layers.4.attn.compressor.wgate.weight"), nullptr);
  EXPECT_NE(find(specs, "layers.4.attn.compressor.wkv.weight"), nullptr);
  EXPECT_NE(find(specs, "layers.5.attn.indexer.wq_b.weight"), nullptr);
  EXPECT_EQ(find(specs, "layers.5.attn.indexer.wk.weight"), nullptr);
  EXPECT_EQ(find(specs, "layers.3.attn.indexer.wq_b.weight"), nullptr);
  EXPECT_NE(find(specs, "layers.1.engram.embed.weight"), nullptr);
  EXPECT_EQ(find(specs, "layers.0.engram.embed.weight"), nullptr);
}

TEST(TensorInventory, CountsScalesAndPackedCodes) {
  const std::vector<TensorSpec> specs = tensor_inventory(tiny());
  // 48 x 64 FP8 codes in 2 x 2 tiles.
  EXPECT_EQ(find(specs, "layers.0.attn.wq_a.weight")->bytes(), 48 * 64 + 4);
  // 32 x 64 FP4 codes, two scales a row.
  EXPECT_EQ(find(specs, "layers.0.ffn.experts.3.w1.weight")->bytes(), 32 * 32 + 64);
  EXPECT_EQ(find(specs, "layers.1.engram.embed.weight")->bytes(), 28 * 32 + 28);
  EXPECT_EQ(find(specs, "embed.weight")->bytes(), 64 * 64 * 2);
}

TEST(TensorInventory, RequiresNeitherDraftStagesNorVisionBiases) {
  const auto config = load_model_config("tests/data/tiny-a");
  for (const TensorSpec& spec : tensor_inventory(*config)) {
    const bool optional =
        spec.name.rfind("mtp.", 0) == 0 || spec.name.find("bias_vl") != std::string::npos;
    EXPECT_EQ(spec.required, !optional) << spec.name;
    EXPECT_EQ(spec.part == "draft", spec.name.rfind("mtp.", 0) == 0) << spec.name;
  }
}

}  // namespace
}  // namespace deepinfer::model
