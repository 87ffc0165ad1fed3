#include "model/model_config.h"

#include <spdlog/fmt/fmt.h>

#include "model/config_reader.h"
#include "model/json_file.h"

namespace deepinfer::model {
namespace {

// Upper limits far above any real model: they keep sizes from overflowing and a damaged file
// from asking for absurd memory.
constexpr int64_t kMaxVocab = 1 << 24;
constexpr int64_t kMaxWidth = 1 << 17;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxHeads = 1024;
constexpr int64_t kMaxHeadDim = 4096;
constexpr int64_t kMaxExperts = 1 << 16;
constexpr int64_t kMaxExpertTotal = 1 << 20;
constexpr int64_t kMaxPositions = 1 << 24;  // positions stay exact in float32
constexpr int64_t kMaxStreams = 8;
constexpr int64_t kMaxPrimeSearch = int64_t{1} << 31;
constexpr int64_t kMaxTableRows = int64_t{1} << 40;

constexpr const char* kArchitecture = "DeepseekV41ForCausalLM";

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(value);
}

void read_trunk(ConfigReader& text, ModelConfig& config) {
  config.vocab_size = narrow(text.integer("vocab_size", 1, kMaxVocab));
  config.hidden_size = narrow(text.integer("hidden_size", 1, kMaxWidth));
  config.num_hidden_layers = narrow(text.integer("num_hidden_layers", 1, kMaxLayers));
  config.max_position_embeddings =
      narrow(text.integer("max_position_embeddings", 1, kMaxPositions));
  config.rms_norm_eps = static_cast<float>(text.number("rms_norm_eps", 0.0, 0.1));
  text.expect("tie_word_embeddings", false);
  config.hc_mult = narrow(text.integer("hc_mult", 1, kMaxStreams));
  config.hc_sinkhorn_iters = narrow(text.integer("hc_sinkhorn_iters", 1, 1000));
  config.hc_eps = static_cast<float>(text.number("hc_eps", 0.0, 0.1));
  text.check(config.hidden_size % 32 == 0, "hidden_size", "a multiple of 32");
}

void read_attention(ConfigReader& text, ModelConfig& config) {
  config.num_attention_heads = narrow(text.integer("num_attention_heads", 1, kMaxHeads));
  text.require("num_key_value_heads", 1);
  config.head_dim = narrow(text.integer("head_dim", 32, kMaxHeadDim));
  config.qk_rope_head_dim = narrow(text.integer("qk_rope_head_dim", 2, kMaxHeadDim));
  config.q_lora_rank = narrow(text.integer("q_lora_rank", 1, kMaxWidth));
  config.o_groups = narrow(text.integer("o_groups", 1, kMaxHeads));
  config.o_lora_rank = narrow(text.integer("o_lora_rank", 1, kMaxWidth));
  config.sliding_window = narrow(text.integer("sliding_window", 1, 1 << 16));
  text.expect("attention_bias", false);
  text.expect("attention_dropout", 0.0);
  text.check(config.head_dim % 32 == 0, "head_dim", "a multiple of 32");
  text.check(config.qk_rope_head_dim % 2 == 0 && config.qk_rope_head_dim <= config.head_dim,
             "qk_rope_head_dim", fmt::format("an even number up to head_dim {}", config.head_dim));
  text.check(config.num_attention_heads % config.o_groups == 0, "o_groups",
             fmt::format("a divisor of num_attention_heads {}", config.num_attention_heads));
}

void read_yarn(const Json& scaling, const std::string& where, YarnConfig& yarn, Status& status) {
  ConfigReader reader(scaling, where + "rope_scaling.");
  reader.require("rope_type", "yarn");
  yarn.factor = reader.number("factor", 1.0, 1e6);
  yarn.beta_fast = reader.number_or("beta_fast", 32.0, 1e-3, 1e6);
  yarn.beta_slow = reader.number_or("beta_slow", 1.0, 1e-3, 1e6);
  yarn.original_max_position =
      narrow(reader.integer("original_max_position_embeddings", 1, kMaxPositions));
  status = reader.status();
}

void read_rope(ConfigReader& text, ModelConfig& config) {
  config.rope_theta = text.number("rope_theta", 1.001, 1e12);
  config.compress_rope_theta = text.number("compress_rope_theta", 1.001, 1e12);
}

void read_sparse(ConfigReader& text, ModelConfig& config) {
  const int32_t last = config.num_hidden_layers - 1;
  config.compress_ratios = text.integers("compress_ratios", 0, 2, 2 * kMaxLayers);
  config.kv_source_layer_ids = text.integers("kv_source_layer_ids", 0, last, kMaxLayers);
  config.index_source_layer_ids = text.integers("index_source_layer_ids", 0, last, kMaxLayers);
  if (!config.index_source_layer_ids.empty()) {
    config.index_n_heads = narrow(text.integer("index_n_heads", 1, kMaxHeads));
    config.index_head_dim = narrow(text.integer("index_head_dim", 32, kMaxHeadDim));
    config.index_topk = narrow(text.integer("index_topk", 1, 1 << 16));
    text.check(config.index_head_dim % 32 == 0 && config.index_head_dim >= config.qk_rope_head_dim,
               "index_head_dim", "a multiple of 32, at least qk_rope_head_dim");
  }
  config.candidate_source_layer_id =
      narrow(text.integer_or("candidate_source_layer_id", -1, -1, last));
  if (config.candidate_source_layer_id >= 0) {
    config.candidate_topk_blocks = narrow(text.integer("candidate_topk_blocks", 1, 1 << 20));
    config.candidate_block_size = narrow(text.integer("candidate_block_size", 1, 1 << 12));
  }
}

void read_moe(ConfigReader& text, ModelConfig& config) {
  config.moe_intermediate_size = narrow(text.integer("moe_intermediate_size", 1, kMaxWidth));
  config.n_routed_experts = narrow(text.integer("n_routed_experts", 1, kMaxExperts));
  config.num_experts_per_tok =
      narrow(text.integer("num_experts_per_tok", 1, config.n_routed_experts));
  text.require("n_shared_experts", 1);
  config.n_shared_experts = 1;
  text.require("scoring_func", "sqrtsoftplus");
  text.require("topk_method", "noaux_tc");
  text.require("hidden_act", "silu");
  config.norm_topk_prob = text.boolean("norm_topk_prob");
  config.routed_scaling_factor = static_cast<float>(text.number("routed_scaling_factor", 0.0, 1e6));
  config.swiglu_limit = static_cast<float>(text.number("swiglu_limit", 0.0, 1e6));
  text.check(config.moe_intermediate_size % 32 == 0, "moe_intermediate_size", "a multiple of 32");
  text.check(int64_t{config.n_routed_experts} * config.num_hidden_layers <= kMaxExpertTotal,
             "n_routed_experts", fmt::format("at most {} in all layers together", kMaxExpertTotal));
}

void read_engram(ConfigReader& text, ModelConfig& config) {
  config.engram_layer_ids =
      text.integers("engram_layer_ids", 0, config.num_hidden_layers - 1, kMaxLayers);
  if (config.engram_layer_ids.empty()) {
    return;
  }
  config.engram_num_embeddings =
      text.long_integers("engram_num_embeddings", 1, kMaxTableRows, kMaxLayers);
  text.check(config.engram_num_embeddings.size() == config.engram_layer_ids.size(),
             "engram_num_embeddings", "one number per engram_layer_ids entry");
  config.engram_max_ngram_size = narrow(text.integer("engram_max_ngram_size", 2, 16));
  config.engram_vocab_size = text.integer("engram_vocab_size", 1, kMaxPrimeSearch);
  config.engram_n_heads = narrow(text.integer("engram_n_heads", 1, 256));
  config.engram_head_dim = narrow(text.integer("engram_head_dim", 32, kMaxHeadDim));
  config.engram_pad_token_id =
      narrow(text.integer("engram_pad_token_id", 0, config.vocab_size - 1));
  config.engram_compressed_vocab_size =
      narrow(text.integer("engram_compressed_vocab_size", 1, config.vocab_size));
  text.check(config.engram_head_dim % 32 == 0, "engram_head_dim", "a multiple of 32");
}

void read_draft(ConfigReader& text, ModelConfig& config) {
  config.num_nextn_predict_layers =
      narrow(text.integer_or("num_nextn_predict_layers", 0, 0, kMaxLayers));
  if (config.num_nextn_predict_layers == 0) {
    return;
  }
  config.dspark_block_size = narrow(text.integer("dspark_block_size", 1, 1024));
  config.dspark_noise_token_id =
      narrow(text.integer("dspark_noise_token_id", 0, config.vocab_size - 1));
  config.dspark_target_layer_ids =
      text.integers("dspark_target_layer_ids", 0, config.num_hidden_layers - 1, kMaxLayers);
  text.check(!config.dspark_target_layer_ids.empty(), "dspark_target_layer_ids",
             "at least one layer");
  config.dspark_markov_rank = narrow(text.integer("dspark_markov_rank", 1, kMaxWidth));
  config.dspark_n_routed_experts =
      narrow(text.integer_or("dspark_n_routed_experts", config.n_routed_experts, 1, kMaxExperts));
  config.dspark_num_experts_per_tok = narrow(text.integer_or(
      "dspark_num_experts_per_tok", config.num_experts_per_tok, 1, config.dspark_n_routed_experts));
  text.check(
      int64_t{config.dspark_n_routed_experts} * config.num_nextn_predict_layers <= kMaxExpertTotal,
      "dspark_n_routed_experts", fmt::format("at most {} in all stages together", kMaxExpertTotal));
}

/// Variants of the architecture that this engine does not compute (§2, optional keys).
void refuse_variants(ConfigReader& text, const ModelConfig& config) {
  text.expect("hc_shifted", true);
  text.expect("dspark_target_attn_input", true);
  text.expect("gate_temp", 1.0);
  text.expect("index_k_source_layer_ids", Json(config.kv_source_layer_ids));
}

Status check_quantization(const Json& root) {
  const auto it = root.find("quantization_config");
  const Json quantization = it == root.end() ? Json::object() : *it;
  ConfigReader reader(quantization, "config.json: quantization_config.");
  reader.require("quant_method", "fp8");
  reader.require("activation_scheme", "dynamic");
  reader.require("weight_block_size", Json::array({32, 32}));
  reader.require("scale_fmt", "ue8m0");
  reader.require("expert_dtype", "fp4");
  return reader.status();
}

/// Special ids stand at the top level; some exports repeat or move them into `text_config`.
void read_token_ids(const Json& root, const Json& text, ModelConfig& config, Status& status) {
  ConfigReader top(root, "config.json: ");
  ConfigReader inner(text, "config.json: text_config.");
  const int64_t last = config.vocab_size - 1;
  const auto id = [&](const char* key, int64_t fallback) {
    return narrow(top.has(key) ? top.integer(key, 0, last)
                               : inner.integer_or(key, fallback, 0, last));
  };
  config.bos_token_id = id("bos_token_id", 0);
  config.pad_token_id = id("pad_token_id", 0);
  const Json& holder = root.contains("eos_token_id") ? root : text;
  if (holder.contains("eos_token_id") && holder.at("eos_token_id").is_array()) {
    config.eos_token_ids =
        (&holder == &root ? top : inner).integers("eos_token_id", 0, narrow(last), 64);
  } else if (top.has("eos_token_id") || inner.has("eos_token_id")) {
    config.eos_token_ids = {id("eos_token_id", 0)};
  }
  top.check(!config.eos_token_ids.empty(), "eos_token_id", "an id or a list of ids");
  status = top.status().is_ok() ? inner.status() : top.status();
}

Status check_architecture(const Json& root, ModelConfig& config) {
  ConfigReader reader(root, "config.json: ");
  const auto it = root.find("architectures");
  const bool named =
      it != root.end() && it->is_array() && it->size() == 1 && it->front() == Json(kArchitecture);
  reader.check(named, "architectures", fmt::format("[\"{}\"]", kArchitecture));
  config.architecture = kArchitecture;
  return reader.status();
}

Result<ModelConfig> config_from_json(const Json& root) {
  if (!root.is_object()) {
    return failed_precondition(
        fmt::format("config.json: expected an object, found {}", describe(root)));
  }
  ModelConfig config;
  DI_TRY(check_architecture(root, config));
  const bool wrapped = root.contains("text_config");
  const Json& text = wrapped ? root.at("text_config") : root;
  const std::string where = wrapped ? "config.json: text_config." : "config.json: ";
  if (!text.is_object()) {
    return failed_precondition(
        fmt::format("config.json: text_config: expected an object, found {}", describe(text)));
  }
  DI_TRY(check_quantization(root));
  ConfigReader reader(text, where);
  for (const auto read :
       {read_trunk, read_attention, read_rope, read_sparse, read_moe, read_engram, read_draft}) {
    read(reader, config);
    DI_TRY(reader.status());
  }
  refuse_variants(reader, config);
  Status status = reader.status();
  if (status.is_ok() && reader.has("rope_scaling")) {
    read_yarn(text.at("rope_scaling"), where, config.yarn, status);
  }
  DI_TRY(status);
  read_token_ids(root, text, config, status);
  DI_TRY(status);
  DI_TRY(validate_topology(config));
  // The draft stages' entries say nothing: they are ratio 0.
  config.compress_ratios.resize(static_cast<size_t>(config.num_hidden_layers));
  return config;
}

}  // namespace

Result<ModelConfig> parse_model_config(std::string_view text) {
  DI_ASSIGN(const Json root, parse_json(text, "config.json"));
  return config_from_json(root);
}

Result<ModelConfig> load_model_config(const std::string& dir) {
  DI_ASSIGN(const Json root, read_json_file(dir + "/config.json"));
  return config_from_json(root);
}

}  // namespace deepinfer::model
