#include "model/tensor_inventory.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

namespace deepinfer::model {
namespace {

constexpr int64_t kTile = 32;

int64_t tiles(int64_t size) {
  return (size + kTile - 1) / kTile;
}

/// Collects specs; the part and need of a group of tensors are set once.
class InventoryBuilder {
 public:
  explicit InventoryBuilder(const ModelConfig& config) : config_(config) {}

  std::vector<TensorSpec> build() {
    add_ends();
    const int32_t layers = config_.num_hidden_layers;
    for (int32_t block = 0; block < layers + config_.num_nextn_predict_layers; ++block) {
      draft_ = block >= layers;
      prefix_ = block_prefix(config_, block) + ".";
      add_hyper_connections();
      add_attention();
      add_moe();
      if (!draft_) {
        add_sparse(block);
        add_engram(block);
      }
    }
    if (draft_) {
      add_draft_ends();
    }
    return std::move(specs_);
  }

 private:
  void add(const std::string& name, TensorFormat format, std::vector<int64_t> shape,
           std::string_view part, bool required = true) {
    specs_.push_back({.name = prefix_ + name,
                      .format = format,
                      .shape = std::move(shape),
                      .part = draft_ ? "draft" : part,
                      .required = required && !draft_});
  }

  void add_ends() {
    const int64_t vocab = config_.vocab_size;
    const int64_t width = config_.hidden_size;
    add("embed.weight", TensorFormat::kBF16, {vocab, width}, "embed");
    add("head.weight", TensorFormat::kBF16, {vocab, width}, "head");
    add("norm.weight", TensorFormat::kBF16, {width}, "norm");
  }

  void add_hyper_connections() {
    const int64_t streams = config_.hc_mult;
    const int64_t mix = (2 + streams) * streams;
    for (const std::string half : {"hc_attn", "hc_ffn"}) {
      add(half + "_fn", TensorFormat::kF32, {mix, streams * config_.hidden_size}, "hc");
      add(half + "_base", TensorFormat::kF32, {mix}, "hc");
      add(half + "_scale", TensorFormat::kF32, {3}, "hc");
    }
  }

  void add_attention() {
    const int64_t width = config_.hidden_size;
    const int64_t rank = config_.q_lora_rank;
    const int64_t channels = int64_t{config_.num_attention_heads} * config_.head_dim;
    const int64_t out_rank = int64_t{config_.o_groups} * config_.o_lora_rank;
    add("attn_norm.weight", TensorFormat::kBF16, {width}, "norm");
    add("ffn_norm.weight", TensorFormat::kBF16, {width}, "norm");
    add("attn.wq_a.weight", TensorFormat::kFp8Tiles, {rank, width}, "attention");
    add("attn.q_norm.weight", TensorFormat::kBF16, {rank}, "norm");
    add("attn.wq_b.weight", TensorFormat::kFp8Tiles, {channels, rank}, "attention");
    add("attn.wkv.weight", TensorFormat::kFp8Tiles, {config_.head_dim, width}, "attention");
    add("attn.kv_norm.weight", TensorFormat::kBF16, {config_.head_dim}, "norm");
    add("attn.attn_sink", TensorFormat::kF32, {config_.num_attention_heads}, "attention");
    add("attn.wo_a.weight", TensorFormat::kFp8Tiles, {out_rank, channels / config_.o_groups},
        "attention");
    add("attn.wo_b.weight", TensorFormat::kFp8Tiles, {width, out_rank}, "attention");
  }

  /// Compressor and indexer (§4.5, §4.6).
  void add_sparse(int32_t layer) {
    const int64_t width = config_.hidden_size;
    const int64_t channels = config_.head_dim;
    const int64_t index = config_.index_head_dim;
    if (config_.is_kv_source(layer)) {
      add("attn.compressor.wkv.weight", TensorFormat::kBF16, {channels, width}, "compressor");
      if (config_.ratio(layer) > 1) {
        add("attn.compressor.wgate.weight", TensorFormat::kBF16, {channels, width}, "compressor");
      }
      add("attn.compressor.norm.weight", TensorFormat::kBF16, {channels}, "compressor");
      add("attn.indexer.wk.weight", TensorFormat::kBF16, {index, channels}, "indexer");
      add("attn.indexer.k_norm.weight", TensorFormat::kBF16, {index}, "indexer");
    }
    if (config_.is_index_source(layer)) {
      add("attn.indexer.wq_b.weight", TensorFormat::kFp8Tiles,
          {config_.index_n_heads * index, config_.q_lora_rank}, "indexer");
      add("attn.indexer.weights_proj.weight", TensorFormat::kBF16, {config_.index_n_heads, width},
          "indexer");
    }
  }

  void add_moe() {
    const int64_t width = config_.hidden_size;
    const int64_t experts = draft_ ? config_.dspark_n_routed_experts : config_.n_routed_experts;
    add("ffn.gate.weight", TensorFormat::kBF16, {experts, width}, "router");
    add("ffn.gate.bias", TensorFormat::kF32, {experts}, "router");
    add("ffn.gate.bias_vl", TensorFormat::kF32, {experts}, "router", /*required=*/false);
    for (int64_t expert = 0; expert < experts; ++expert) {
      add_expert(fmt::format("ffn.experts.{}", expert), TensorFormat::kFp4Rows, "experts");
    }
    add_expert("ffn.shared_experts", TensorFormat::kFp8Tiles, "shared");
  }

  void add_expert(const std::string& name, TensorFormat format, std::string_view part) {
    const int64_t width = config_.hidden_size;
    const int64_t hidden = config_.moe_intermediate_size;
    add(name + ".w1.weight", format, {hidden, width}, part);
    add(name + ".w3.weight", format, {hidden, width}, part);
    add(name + ".w2.weight", format, {width, hidden}, part);
  }

  void add_engram(int32_t layer) {
    const int32_t index = config_.engram_index(layer);
    if (index < 0) {
      return;
    }
    const int64_t width = config_.hidden_size;
    const int64_t dim = config_.engram_head_dim;
    const int64_t rows = config_.engram_num_embeddings[static_cast<size_t>(index)];
    add("engram.embed.weight", TensorFormat::kFp8Rows, {rows, dim}, "engram");
    add("engram.wkv.weight", TensorFormat::kFp8Tiles,
        {(config_.hc_mult + 1) * width, config_.engram_columns() * dim}, "engram");
    add("engram.q_weight", TensorFormat::kBF16, {config_.hc_mult, width}, "engram");
    add("engram.k_weight", TensorFormat::kBF16, {config_.hc_mult, width}, "engram");
  }

  void add_draft_ends() {
    const int64_t width = config_.hidden_size;
    const int64_t vocab = config_.vocab_size;
    const int64_t rank = config_.dspark_markov_rank;
    const auto targets = static_cast<int64_t>(config_.dspark_target_layer_ids.size());
    prefix_ = "mtp.0.";
    add("main_proj.weight", TensorFormat::kFp8Tiles, {width, targets * width}, "draft");
    add("main_norm.weight", TensorFormat::kBF16, {width}, "draft");
    prefix_ = fmt::format("mtp.{}.", config_.num_nextn_predict_layers - 1);
    add("norm.weight", TensorFormat::kBF16, {width}, "draft");
    add("markov_head.embed.weight", TensorFormat::kBF16, {vocab, rank}, "draft");
    add("markov_head.head.weight", TensorFormat::kBF16, {vocab, rank}, "draft");
    add("confidence_head.proj.weight", TensorFormat::kBF16, {1, width + rank}, "draft");
  }

  const ModelConfig& config_;
  std::vector<TensorSpec> specs_;
  std::string prefix_;
  bool draft_ = false;
};

std::string scale_name(const std::string& name) {
  constexpr std::string_view kSuffix = ".weight";
  return name.substr(0, name.size() - kSuffix.size()) + ".scale";
}

}  // namespace

std::string block_prefix(const ModelConfig& config, int32_t layer) {
  const int32_t layers = config.num_hidden_layers;
  return layer < layers ? fmt::format("layers.{}", layer) : fmt::format("mtp.{}", layer - layers);
}

int64_t StoredSpec::bytes() const {
  int64_t bytes = dtype == "F32" ? 4 : dtype == "BF16" ? 2 : 1;
  for (const int64_t size : shape) {
    bytes *= size;
  }
  return bytes;
}

std::vector<StoredSpec> TensorSpec::stored() const {
  switch (format) {
    case TensorFormat::kBF16:
      return {{name, "BF16", shape}};
    case TensorFormat::kF32:
      return {{name, "F32", shape}};
    case TensorFormat::kFp8Tiles:
      return {{name, "F8_E4M3", shape},
              {scale_name(name), "F8_E8M0", {tiles(shape[0]), tiles(shape[1])}}};
    case TensorFormat::kFp8Rows:
      return {{name, "F8_E4M3", shape}, {scale_name(name), "F8_E8M0", {shape[0], tiles(shape[1])}}};
    case TensorFormat::kFp4Rows:
      return {{name, "I8", {shape[0], shape[1] / 2}},
              {scale_name(name), "F8_E8M0", {shape[0], tiles(shape[1])}}};
  }
  return {};
}

int64_t TensorSpec::bytes() const {
  int64_t total = 0;
  for (const StoredSpec& tensor : stored()) {
    total += tensor.bytes();
  }
  return total;
}

std::vector<TensorSpec> tensor_inventory(const ModelConfig& config) {
  return InventoryBuilder(config).build();
}

}  // namespace deepinfer::model
