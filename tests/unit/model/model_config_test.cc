#include "model/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Result<ModelConfig> parse(const json& config) {
  return parse_model_config(config.dump());
}

/// The error of the valid configuration after `patch` (JSON merge patch).
std::string error_after(const json& patch) {
  json config = tiny_config();
  config.merge_patch(patch);
  const auto result = parse(config);
  if (result.has_value()) {
    return "no error";
  }
  EXPECT_EQ(result.error().code(), StatusCode::kFailedPrecondition);
  return result.error().message();
}

std::string text_error(const json& patch) {
  return error_after({{"text_config", patch}});
}

TEST(ModelConfig, ReadsTinyCheckpoints) {
  const auto config = load_model_config("tests/data/tiny-a");
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->architecture, "DeepseekV41ForCausalLM");
  EXPECT_EQ(config->hidden_size, 128);
  EXPECT_EQ(config->compress_ratios, (std::vector<int32_t>{0, 0, 2, 2, 2, 1, 1, 1}));
  EXPECT_EQ(config->yarn.original_max_position, 64);
  EXPECT_EQ(config->eos_token_ids, (std::vector<TokenId>{1}));
  EXPECT_EQ(config->num_nextn_predict_layers, 2);
  EXPECT_EQ(config->dspark_target_layer_ids, (std::vector<int32_t>{5, 6, 7}));
  EXPECT_EQ(config->engram_columns(), 6);
  EXPECT_TRUE(load_model_config("tests/data/tiny-b").has_value());
}

TEST(ModelConfig, DerivesTopology) {
  const auto config = parse(tiny_config());
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->kv_source(3), 2);
  EXPECT_EQ(config->kv_source(5), 4);
  EXPECT_EQ(config->kv_source(1), -1);
  EXPECT_EQ(config->index_source(5), 5);
  EXPECT_EQ(config->first_decoder_layer(), 4);
  EXPECT_EQ(config->max_ratio(), 2);
  EXPECT_TRUE(config->uses_candidates(5));
  EXPECT_FALSE(config->uses_candidates(4));
  EXPECT_EQ(config->engram_index(1), 0);
  EXPECT_EQ(config->engram_index(2), -1);
}

TEST(ModelConfig, AcceptsKeysAtTopLevel) {
  json flat = tiny_config();
  const json text = flat["text_config"];
  flat.erase("text_config");
  flat.update(text);
  const auto config = parse(flat);
  ASSERT_TRUE(config.has_value()) << config.error().message();
  EXPECT_EQ(config->hidden_size, 64);
}

TEST(ModelConfig, IgnoresUnknownKeys) {
  EXPECT_EQ(text_error({{"something_new", {1, 2}}, {"use_fp4_sparse_kv", false}}), "no error");
  EXPECT_EQ(error_after({{"vision_config", json::object()}}), "no error");
}

TEST(ModelConfig, AcceptsOptionalKeysOnlyWithTheirDefaults) {
  EXPECT_EQ(text_error({{"hc_shifted", true},
                        {"gate_temp", 1.0},
                        {"dspark_target_attn_input", true},
                        {"index_k_source_layer_ids", {2, 4}}}),
            "no error");
  EXPECT_EQ(text_error({{"hc_shifted", false}}),
            "config.json: text_config.hc_shifted: expected true, found false");
  EXPECT_THAT(text_error({{"gate_temp", 0.5}}), HasSubstr("gate_temp: expected 1.0, found 0.5"));
  EXPECT_THAT(text_error({{"dspark_target_attn_input", false}}), HasSubstr("expected true"));
  EXPECT_THAT(text_error({{"index_k_source_layer_ids", {2}}}),
              HasSubstr("index_k_source_layer_ids: expected [2,4], found [2]"));
  EXPECT_THAT(text_error({{"tie_word_embeddings", true}}), HasSubstr("expected false"));
  EXPECT_THAT(text_error({{"attention_bias", true}}), HasSubstr("expected false"));
  EXPECT_THAT(text_error({{"attention_dropout", 0.1}}), HasSubstr("expected 0.0, found 0.1"));
}

TEST(ModelConfig, NamesMissingAndWrongKeys) {
  EXPECT_EQ(
      text_error({{"hidden_size", nullptr}}),
      "config.json: text_config.hidden_size: expected an integer in 1..131072, found nothing");
  EXPECT_THAT(text_error({{"hidden_size", "64"}}), HasSubstr("found \"64\""));
  EXPECT_THAT(text_error({{"hidden_size", 64.5}}), HasSubstr("found 64.5"));
  EXPECT_THAT(text_error({{"hidden_size", -64}}), HasSubstr("found -64"));
  EXPECT_THAT(text_error({{"hidden_size", 18446744073709551615U}}), HasSubstr("hidden_size"));
  EXPECT_THAT(text_error({{"hidden_size", 1 << 20}}), HasSubstr("1..131072"));
  EXPECT_THAT(text_error({{"rms_norm_eps", "tiny"}}), HasSubstr("a number in"));
  EXPECT_THAT(text_error({{"norm_topk_prob", 1}}), HasSubstr("true or false"));
  EXPECT_THAT(text_error({{"compress_ratios", 2}}), HasSubstr("a list of at most"));
  EXPECT_THAT(text_error({{"compress_ratios", {0, 0, 3, 2, 1, 1}}}), HasSubstr("found 3"));
  EXPECT_THAT(error_after({{"text_config", 5}}), HasSubstr("text_config: expected an object"));
}

TEST(ModelConfig, RefusesOtherArchitecturesAndQuantisations) {
  EXPECT_EQ(error_after({{"architectures", {"LlamaForCausalLM"}}}),
            "config.json: architectures: expected [\"DeepseekV41ForCausalLM\"], found "
            "[\"LlamaForCausalLM\"]");
  EXPECT_THAT(error_after({{"architectures", nullptr}}), HasSubstr("found nothing"));
  EXPECT_THAT(error_after({{"quantization_config", nullptr}}), HasSubstr("quant_method"));
  for (const char* key :
       {"quant_method", "activation_scheme", "weight_block_size", "scale_fmt", "expert_dtype"}) {
    EXPECT_THAT(error_after({{"quantization_config", {{key, "other"}}}}),
                HasSubstr(std::string("quantization_config.") + key));
  }
  EXPECT_THAT(text_error({{"scoring_func", "softmax"}}), HasSubstr("sqrtsoftplus"));
  EXPECT_THAT(text_error({{"topk_method", "greedy"}}), HasSubstr("noaux_tc"));
  EXPECT_THAT(text_error({{"num_key_value_heads", 2}}), HasSubstr("expected 1, found 2"));
  EXPECT_THAT(text_error({{"n_shared_experts", 2}}), HasSubstr("expected 1, found 2"));
  EXPECT_THAT(text_error({{"rope_scaling", {{"rope_type", "linear"}}}}),
              HasSubstr("text_config.rope_scaling.rope_type: expected \"yarn\""));
}

TEST(ModelConfig, AllowsMissingScalingAndCandidatePool) {
  EXPECT_EQ(text_error({{"rope_scaling", nullptr}}), "no error");
  EXPECT_EQ(text_error({{"candidate_source_layer_id", nullptr}}), "no error");
  EXPECT_EQ(text_error({{"candidate_source_layer_id", -1}}), "no error");
}

TEST(ModelConfig, ChecksDivisibility) {
  EXPECT_THAT(text_error({{"hidden_size", 72}}), HasSubstr("a multiple of 32, found 72"));
  EXPECT_THAT(text_error({{"head_dim", 48}}), HasSubstr("head_dim: expected a multiple of 32"));
  EXPECT_THAT(text_error({{"index_head_dim", 40}}), HasSubstr("index_head_dim"));
  EXPECT_THAT(text_error({{"moe_intermediate_size", 40}}), HasSubstr("moe_intermediate_size"));
  EXPECT_THAT(text_error({{"engram_head_dim", 48}}), HasSubstr("engram_head_dim"));
  EXPECT_THAT(text_error({{"o_groups", 3}}), HasSubstr("a divisor of num_attention_heads 4"));
  EXPECT_THAT(text_error({{"qk_rope_head_dim", 15}}), HasSubstr("an even number"));
  EXPECT_THAT(text_error({{"qk_rope_head_dim", 64}}), HasSubstr("up to head_dim 32"));
  EXPECT_THAT(text_error({{"num_experts_per_tok", 5}}), HasSubstr("1..4"));
}

TEST(ModelConfig, RatioListMayIncludeDraftStages) {
  const json draft = {{"num_nextn_predict_layers", 2},  {"dspark_block_size", 4},
                      {"dspark_noise_token_id", 3},     {"dspark_target_layer_ids", {5}},
                      {"dspark_markov_rank", 32},       {"dspark_n_routed_experts", 4},
                      {"dspark_num_experts_per_tok", 2}};
  json with_stages = draft;
  with_stages["compress_ratios"] = {0, 0, 2, 2, 1, 1, 0, 0};
  EXPECT_EQ(text_error(draft), "no error");
  EXPECT_EQ(text_error(with_stages), "no error");
  with_stages["compress_ratios"] = {0, 0, 2, 2, 1, 1, 0};
  EXPECT_THAT(text_error(with_stages), HasSubstr("expected 6 entries (layers) or 8"));
  with_stages["compress_ratios"] = {0, 0, 2, 2, 1, 1, 0, 1};
  EXPECT_THAT(text_error(with_stages), HasSubstr("expected 0 for every draft stage"));
}

TEST(ModelConfig, RefusesBrokenTopology) {
  EXPECT_THAT(text_error({{"index_source_layer_ids", {4, 5}}}),
              HasSubstr("layer 2 must be in index_source_layer_ids"));
  EXPECT_THAT(text_error({{"kv_source_layer_ids", {4}}}),
              HasSubstr("layer 2 has compress ratio 2"));
  EXPECT_THAT(text_error({{"kv_source_layer_ids", {2}}}), HasSubstr("layer 4 has ratio 1"));
  EXPECT_THAT(text_error({{"kv_source_layer_ids", {4, 2}}}), HasSubstr("ascending"));
  EXPECT_THAT(text_error({{"kv_source_layer_ids", {2, 2, 4}}}), HasSubstr("without repeats"));
  EXPECT_THAT(text_error({{"kv_source_layer_ids", {2, 9}}}), HasSubstr("found 9"));
  EXPECT_THAT(text_error({{"index_source_layer_ids", {0, 2, 4, 5}}}),
              HasSubstr("layer 0 must have a compress ratio above 0"));
  EXPECT_THAT(text_error({{"engram_layer_ids", {4}}}),
              HasSubstr("must lie before the decoder half"));
  EXPECT_THAT(text_error({{"engram_layer_ids", {1, 1}}, {"engram_num_embeddings", {28, 28}}}),
              HasSubstr("listed twice"));
  EXPECT_THAT(text_error({{"engram_num_embeddings", {28, 5}}}), HasSubstr("one number per"));
}

TEST(ModelConfig, RefusesCandidatePoolThatCannotFillTheSelection) {
  EXPECT_THAT(text_error({{"index_topk", 10}}), HasSubstr("fewer than index_topk 10"));
  EXPECT_EQ(text_error({{"index_topk", 9}}), "no error");
  EXPECT_THAT(text_error({{"candidate_source_layer_id", 3}}),
              HasSubstr("layer 3 must be in index_source_layer_ids"));
  EXPECT_THAT(text_error({{"candidate_source_layer_id", 2}}),
              HasSubstr("by the candidates of layer 2"));
}

TEST(ModelConfig, RefusesAbsurdSizes) {
  EXPECT_THAT(text_error({{"n_routed_experts", 1 << 17}}), HasSubstr("n_routed_experts"));
  EXPECT_THAT(text_error({{"num_hidden_layers", 1 << 20}}), HasSubstr("num_hidden_layers"));
  EXPECT_THAT(text_error({{"vocab_size", 2000000000}}), HasSubstr("vocab_size"));
  EXPECT_THAT(text_error({{"max_position_embeddings", 2000000000}}), HasSubstr("max_position"));
  EXPECT_THAT(text_error({{"engram_num_embeddings", {int64_t{1} << 62}}}),
              HasSubstr("engram_num_embeddings"));
}

TEST(ModelConfig, ReadsSpecialTokens) {
  json config = tiny_config();
  config["eos_token_id"] = {1, 5};
  EXPECT_EQ(parse(config)->eos_token_ids, (std::vector<TokenId>{1, 5}));
  config["eos_token_id"] = 64;
  EXPECT_THAT(parse(config).error().message(), HasSubstr("eos_token_id"));
  config.erase("eos_token_id");
  EXPECT_THAT(parse(config).error().message(), HasSubstr("eos_token_id"));
  config["text_config"]["eos_token_id"] = 7;
  EXPECT_EQ(parse(config)->eos_token_ids, (std::vector<TokenId>{7}));
}

TEST(ModelConfig, SurvivesTextThatIsNoConfiguration) {
  for (const std::string text : {"", "{", "[]", "17", "null", "\"x\"", "{\"a\":1}", "\xff\xfe"}) {
    const auto result = parse_model_config(text);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code(), StatusCode::kFailedPrecondition) << text;
  }
  // As a value of a known key and at the root: neither may exhaust the stack.
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_FALSE(parse_model_config(deep).has_value());
  EXPECT_FALSE(parse_model_config("{\"architectures\":" + deep + "}").has_value());
  std::string config = tiny_config().dump();
  config.replace(config.find("\"hidden_size\":64"), 16, "\"hidden_size\":" + deep);
  EXPECT_FALSE(parse_model_config(config).has_value());
}

TEST(ModelConfig, SaysThatTheFileIsMissing) {
  const TempDir dir;
  const auto result = load_model_config(dir.path());
  EXPECT_EQ(result.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(result.error().message(), HasSubstr("/config.json: no such file"));
}

TEST(ModelConfig, RecognisesGitLfsPointer) {
  const TempDir dir;
  dir.write("config.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  EXPECT_THAT(load_model_config(dir.path()).error().message(), HasSubstr("Git LFS pointer"));
}

}  // namespace
}  // namespace deepinfer::model
