#pragma once

/// `config.json` of a V4.1 checkpoint, checked (model spec §2).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::model {

/// Long-context scaling of the rotary frequencies (§4.3).
struct YarnConfig {
  double factor = 1.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  int32_t original_max_position = 0;  ///< 0: no scaling
};

/// Fields carry the names of config.json.
struct ModelConfig {
  std::string architecture;
  int32_t vocab_size = 0;
  int32_t hidden_size = 0;
  int32_t num_hidden_layers = 0;
  int32_t max_position_embeddings = 0;
  float rms_norm_eps = 0;
  TokenId bos_token_id = 0;
  std::vector<TokenId> eos_token_ids;
  TokenId pad_token_id = 0;

  int32_t hc_mult = 0;
  int32_t hc_sinkhorn_iters = 0;
  float hc_eps = 0;

  int32_t num_attention_heads = 0;
  int32_t head_dim = 0;
  int32_t qk_rope_head_dim = 0;
  int32_t q_lora_rank = 0;
  int32_t o_groups = 0;
  int32_t o_lora_rank = 0;
  int32_t sliding_window = 0;
  double rope_theta = 0;
  double compress_rope_theta = 0;
  YarnConfig yarn;

  /// One per backbone layer: 0, 1 or 2.
  std::vector<int32_t> compress_ratios;
  std::vector<int32_t> kv_source_layer_ids;
  std::vector<int32_t> index_source_layer_ids;
  int32_t index_n_heads = 0;
  int32_t index_head_dim = 0;
  int32_t index_topk = 0;
  int32_t candidate_source_layer_id = -1;  ///< -1: no candidate pool
  int32_t candidate_topk_blocks = 0;
  int32_t candidate_block_size = 0;

  int32_t moe_intermediate_size = 0;
  int32_t n_routed_experts = 0;
  int32_t num_experts_per_tok = 0;
  int32_t n_shared_experts = 0;
  bool norm_topk_prob = true;
  float routed_scaling_factor = 1;
  float swiglu_limit = 0;

  std::vector<int32_t> engram_layer_ids;
  std::vector<int64_t> engram_num_embeddings;
  int32_t engram_max_ngram_size = 0;
  int64_t engram_vocab_size = 0;
  int32_t engram_n_heads = 0;
  int32_t engram_head_dim = 0;
  TokenId engram_pad_token_id = 0;
  int32_t engram_compressed_vocab_size = 0;

  /// Draft stages (§6): their tensors are checked and reported, not run by this version.
  int32_t num_nextn_predict_layers = 0;
  int32_t dspark_block_size = 0;
  TokenId dspark_noise_token_id = 0;
  std::vector<int32_t> dspark_target_layer_ids;
  int32_t dspark_markov_rank = 0;
  int32_t dspark_n_routed_experts = 0;
  int32_t dspark_num_experts_per_tok = 0;

  int32_t ratio(int32_t layer) const { return compress_ratios[static_cast<size_t>(layer)]; }
  bool is_kv_source(int32_t layer) const;
  bool is_index_source(int32_t layer) const;
  /// Whether `layer` (an index source) selects within the candidate pool only (§4.6).
  bool uses_candidates(int32_t layer) const;
  /// Position in `engram_layer_ids`, or -1.
  int32_t engram_index(int32_t layer) const;
  /// The layer whose compressed entries `layer` (ratio > 0) attends to.
  int32_t kv_source(int32_t layer) const;
  /// The layer whose selection `layer` (ratio > 0) uses.
  int32_t index_source(int32_t layer) const;
  /// First ratio-1 layer: the start of the decoder half.
  int32_t first_decoder_layer() const;
  /// Largest compress ratio in use; 1 if there is none.
  int32_t max_ratio() const;
  /// Table rows one token reads at an Engram layer: n-gram sizes times heads.
  int32_t engram_columns() const;
};

/// The configuration in the text of a config.json; errors as below.
Result<ModelConfig> parse_model_config(std::string_view text);

/// Checks how the layers depend on each other (§2, derived topology): sources, ratios, decoder
/// half, candidate pool. kFailedPrecondition says which rule is broken.
Status validate_topology(const ModelConfig& config);

/// Reads and checks `dir`/config.json. kNotFound without the file; kFailedPrecondition names
/// the key, what was expected and what was found.
Result<ModelConfig> load_model_config(const std::string& dir);

}  // namespace deepinfer::model
