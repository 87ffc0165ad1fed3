#include "model/model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/attention.h"
#include "model/engram.h"
#include "model/hyper_connection.h"
#include "model/moe.h"
#include "model/step_plan.h"
#include "model/tensor_inventory.h"
#include "model/weights.h"

namespace deepinfer::model {
namespace {

/// Rows whose logits are computed at once; bounds their memory.
constexpr int64_t kLogitRows = 64;

struct LayerWeights {
  std::optional<EngramWeights> engram;
  HyperConnectionWeights hc_attention, hc_ffn;
  const uint16_t* attention_norm = nullptr;
  const uint16_t* ffn_norm = nullptr;
  AttentionWeights attention;
  MoeWeights moe;
};

struct ModelWeights {
  const uint16_t* embed = nullptr;
  const uint16_t* norm = nullptr;
  kernels::WeightView head;
  std::vector<LayerWeights> layers;
};

LayerWeights load_layer(WeightLoader& loader, const ModelConfig& config, int32_t layer) {
  const std::string name = block_prefix(config, layer);
  LayerWeights weights;
  if (config.engram_index(layer) >= 0) {
    weights.engram = load_engram(loader, config, layer);
  }
  weights.hc_attention = load_hyper_connection(loader, name + ".hc_attn");
  weights.hc_ffn = load_hyper_connection(loader, name + ".hc_ffn");
  weights.attention_norm = loader.bf16(name + ".attn_norm.weight");
  weights.ffn_norm = loader.bf16(name + ".ffn_norm.weight");
  weights.attention = load_attention(loader, config, layer);
  weights.moe = load_moe(loader, config, layer);
  return weights;
}

Result<ModelWeights> load_weights(const ModelConfig& config, WeightStore& store) {
  const std::vector<TensorSpec> inventory = tensor_inventory(config);
  DI_TRY(store.check(inventory));
  WeightLoader loader(store, inventory);
  ModelWeights weights;
  weights.embed = loader.bf16("embed.weight");
  weights.norm = loader.bf16("norm.weight");
  weights.head = loader.matrix("head.weight");
  for (int32_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    weights.layers.push_back(load_layer(loader, config, layer));
  }
  DI_TRY(loader.status());
  return weights;
}

int64_t required_bytes(const ModelConfig& config) {
  int64_t bytes = 0;
  for (const TensorSpec& spec : tensor_inventory(config)) {
    bytes += spec.required ? spec.bytes() : 0;
  }
  return bytes;
}

class V41Model final : public Model {
 public:
  /// Not movable: the blocks refer to `graph_`.
  V41Model(ModelConfig config, std::unique_ptr<WeightStore> store, ModelWeights weights,
           device::Device& device)
      : config_(std::move(config)),
        store_(std::move(store)),
        weights_(std::move(weights)),
        weight_bytes_(required_bytes(config_)),
        graph_{config_, device},
        streams_(graph_),
        moe_(graph_) {}
  V41Model(const V41Model&) = delete;
  V41Model& operator=(const V41Model&) = delete;

  Status prepare(std::optional<EngramHash> hash) {
    DI_ASSIGN(Attention attention, Attention::create(graph_));
    attention_.emplace(std::move(attention));
    if (hash.has_value()) {
      engram_.emplace(graph_, *std::move(hash));
    }
    return Status::ok();
  }

  const ModelConfig& config() const override { return config_; }
  int64_t weight_bytes() const override { return weight_bytes_; }
  void set_observer(ForwardObserver* observer) override { graph_.observer = observer; }

  Status forward(const ForwardInput& input, KvCache& cache, float* logits) override {
    DI_TRY(check_input(input, config_, cache.shape()));
    if (input.tokens.empty()) {
      return Status::ok();
    }
    DI_TRY(begin_step(input, cache));
    for (int32_t layer = 0; layer < config_.num_hidden_layers; ++layer) {
      DI_TRY(run_layer(layer, cache));
    }
    DI_TRY(write_logits(input.logit_rows, logits));
    return graph_.device.synchronize();
  }

 private:
  Status begin_step(const ForwardInput& input, KvCache& cache) {
    DI_TRY(plan_.build(input, config_, cache, graph_.device));
    const int64_t values = round_up_rows(plan_.num_tokens()) * config_.hidden_size;
    DI_TRY(x_.ensure(graph_.device, values));
    DI_TRY(y_.ensure(graph_.device, values));
    if (engram_.has_value()) {
      DI_TRY(engram_->prepare(input.tokens, plan_, cache));
    }
    return streams_.begin(plan_.ids(), plan_.num_tokens(), weights_.embed);
  }

  /// §4.1 step 3.
  Status run_layer(int32_t layer, KvCache& cache) {
    const LayerWeights& weights = weights_.layers[static_cast<size_t>(layer)];
    const int64_t tokens = plan_.num_tokens();
    if (weights.engram.has_value()) {
      DI_TRY(engram_->run(*weights.engram, layer, tokens, streams_.streams()));
    }
    streams_.enter(weights.hc_attention, x_.data());
    graph_.rms_norm(x_.data(), tokens, config_.hidden_size, weights.attention_norm);
    DI_TRY(attention_->run(weights.attention, layer, x_.data(), plan_, cache, y_.data()));
    streams_.leave(y_.data());
    streams_.enter(weights.hc_ffn, x_.data());
    graph_.rms_norm(x_.data(), tokens, config_.hidden_size, weights.ffn_norm);
    DI_TRY(moe_.run(weights.moe, layer, x_.data(), tokens, y_.data()));
    streams_.leave(y_.data());
    return graph_.observer == nullptr ? Status::ok() : report_streams(layer);
  }

  /// §4.1 step 4, for the wanted rows only.
  Status write_logits(const std::vector<int32_t>& rows, float* logits) {
    const int64_t vocab = config_.vocab_size;
    for (size_t begin = 0; begin < rows.size(); begin += kLogitRows) {
      const size_t end = std::min(rows.size(), begin + kLogitRows);
      const auto count = static_cast<int64_t>(end - begin);
      logit_rows_.host.assign(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                              rows.begin() + static_cast<std::ptrdiff_t>(end));
      DI_TRY(logit_rows_.upload(graph_.device));
      DI_TRY(hidden_.ensure(graph_.device, count * config_.hidden_size));
      DI_TRY(logits_.ensure(graph_.device, count * vocab));
      DI_TRY(streams_.collapse_rows(logit_rows_.data(), count, hidden_.data()));
      graph_.rms_norm(hidden_.data(), count, config_.hidden_size, weights_.norm);
      graph_.linear(hidden_.data(), count, weights_.head, logits_.data());
      DI_TRY(graph_.device.copy_async(logits + static_cast<int64_t>(begin) * vocab, logits_.data(),
                                      static_cast<size_t>(count * vocab) * sizeof(float)));
    }
    return Status::ok();
  }

  Status report_streams(int32_t layer) {
    std::vector<float> streams;
    DI_TRY(graph_.download(streams, streams_.streams(),
                           plan_.num_tokens() * config_.hc_mult * config_.hidden_size));
    graph_.observer->on_streams(layer, streams);
    return Status::ok();
  }

  const ModelConfig config_;
  const std::unique_ptr<WeightStore> store_;
  const ModelWeights weights_;
  const int64_t weight_bytes_;
  Graph graph_;
  StepPlan plan_;
  HyperConnection streams_;
  std::optional<Attention> attention_;
  Moe moe_;
  std::optional<Engram> engram_;
  device::Tensor<float> x_, y_;  // [T, D]
  StagedArray<int64_t> logit_rows_;
  device::Tensor<float> hidden_;  // [rows, D]
  device::Tensor<float> logits_;  // [rows, vocab]
};

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::string& model_dir,
                                           const std::string& tokenizer_dir,
                                           device::Device& device) {
  DI_ASSIGN(ModelConfig config, load_model_config(model_dir));
  std::optional<EngramHash> hash;
  if (!config.engram_layer_ids.empty()) {
    DI_ASSIGN(TokenMap token_map, load_token_map(tokenizer_dir));
    DI_ASSIGN(hash, EngramHash::create(config, std::move(token_map)));
  }
  DI_ASSIGN(std::unique_ptr<WeightStore> store, WeightStore::open(model_dir));
  DI_ASSIGN(ModelWeights weights, load_weights(config, *store));
  auto model =
      std::make_unique<V41Model>(std::move(config), std::move(store), std::move(weights), device);
  DI_TRY(model->prepare(std::move(hash)));
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace deepinfer::model
