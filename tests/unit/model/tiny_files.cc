#include "tests/unit/model/tiny_files.h"

#include <unistd.h>

#include <atomic>
#include <fstream>

namespace deepinfer::model {
namespace {

using Json = nlohmann::json;

size_t element_bytes(const std::string& dtype) {
  if (dtype == "F32") {
    return 4;
  }
  return dtype == "BF16" ? 2 : 1;
}

}  // namespace

TempDir::TempDir() {
  static std::atomic<int> counter{0};
  path_ = std::filesystem::temp_directory_path() /
          ("deepinfer_model_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
  std::filesystem::create_directories(path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TempDir::write(const std::string& name, const std::string& bytes) const {
  std::ofstream file(path_ / name, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string raw_safetensors(const std::string& header, const std::string& data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  }
  return bytes + header + data;
}

std::string safetensors_bytes(const std::vector<TinyTensor>& tensors, size_t gap) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const TinyTensor& tensor : tensors) {
    size_t size = element_bytes(tensor.dtype);
    for (const int64_t extent : tensor.shape) {
      size *= static_cast<size_t>(extent);
    }
    data.append(gap, '\0');
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + size}}};
    data += tensor.bytes.empty() ? std::string(size, '\0') : tensor.bytes;
  }
  return raw_safetensors(header.dump(), data);
}

Json tiny_config() {
  return Json::parse(R"({
    "architectures": ["DeepseekV41ForCausalLM"], "model_type": "deepseek_v41",
    "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2,
    "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic",
      "weight_block_size": [32, 32], "scale_fmt": "ue8m0", "expert_dtype": "fp4"},
    "text_config": {
      "vocab_size": 64, "hidden_size": 64, "num_hidden_layers": 6, "rms_norm_eps": 1e-20,
      "max_position_embeddings": 1024, "tie_word_embeddings": false,
      "hc_mult": 4, "hc_eps": 1e-6, "hc_sinkhorn_iters": 20,
      "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 32,
      "qk_rope_head_dim": 16, "q_lora_rank": 48, "o_groups": 2, "o_lora_rank": 16,
      "sliding_window": 8, "rope_theta": 10000, "compress_rope_theta": 160000,
      "rope_scaling": {"rope_type": "yarn", "factor": 16, "beta_fast": 32, "beta_slow": 1,
                       "original_max_position_embeddings": 64},
      "compress_ratios": [0, 0, 2, 2, 1, 1],
      "kv_source_layer_ids": [2, 4], "index_source_layer_ids": [2, 4, 5],
      "index_n_heads": 4, "index_head_dim": 32, "index_topk": 8,
      "candidate_source_layer_id": 4, "candidate_topk_blocks": 2, "candidate_block_size": 8,
      "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "n_shared_experts": 1, "scoring_func": "sqrtsoftplus", "topk_method": "noaux_tc",
      "norm_topk_prob": true, "routed_scaling_factor": 1.5, "hidden_act": "silu",
      "swiglu_limit": 10.0, "attention_bias": false, "attention_dropout": 0.0,
      "engram_layer_ids": [1], "engram_num_embeddings": [28], "engram_max_ngram_size": 3,
      "engram_vocab_size": 5, "engram_n_heads": 1, "engram_head_dim": 32,
      "engram_pad_token_id": 2, "engram_compressed_vocab_size": 64}})");
}

}  // namespace deepinfer::model
