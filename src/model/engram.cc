#include "model/engram.h"

#include <algorithm>
#include <string>

#include "model/tensor_inventory.h"

namespace deepinfer::model {

EngramWeights load_engram(WeightLoader& loader, const ModelConfig& config, int32_t layer) {
  const std::string name = block_prefix(config, layer) + ".engram";
  return {.table = loader.matrix(name + ".embed.weight"),
          .wkv = loader.matrix(name + ".wkv.weight"),
          .q_weight = loader.bf16(name + ".q_weight"),
          .k_weight = loader.bf16(name + ".k_weight")};
}

void Engram::hash_sequence(const std::vector<TokenId>& tokens,
                           const kernels::SequenceView& sequence, KvCache& cache) {
  const int32_t lookback = hash_.lookback();
  const int32_t ring_size = cache.token_ring();
  int32_t* ring = cache.recent_tokens(sequence.state_slot);
  // Newest last: what came before the step, then the step's tokens.
  ids_.clear();
  for (int32_t p = sequence.start_position - lookback; p < sequence.start_position; ++p) {
    ids_.push_back(p < 0 ? hash_.pad() : ring[p % ring_size]);
  }
  for (int32_t i = 0; i < sequence.num_tokens; ++i) {
    const int64_t token = int64_t{sequence.token_begin} + i;
    ids_.push_back(hash_.compressed(tokens[static_cast<size_t>(token)]));
    ring[(sequence.start_position + i) % ring_size] = ids_.back();
  }
  std::vector<int32_t> history(static_cast<size_t>(lookback) + 1);
  for (int32_t i = 0; i < sequence.num_tokens; ++i) {
    const auto newest = ids_.begin() + i + lookback;
    std::reverse_copy(newest - lookback, newest + 1, history.begin());
    const int64_t first = int64_t{sequence.token_begin + i} * hash_.num_columns();
    for (size_t layer = 0; layer < rows_.size(); ++layer) {
      hash_.rows(static_cast<int32_t>(layer), history, rows_[layer].host.data() + first);
    }
  }
}

Status Engram::prepare(const std::vector<TokenId>& tokens, const StepPlan& plan, KvCache& cache) {
  const std::vector<int32_t>& layers = graph_.config.engram_layer_ids;
  rows_.resize(layers.size());
  for (StagedArray<int64_t>& rows : rows_) {
    rows.host.resize(static_cast<size_t>(plan.num_tokens() * hash_.num_columns()));
  }
  for (const kernels::SequenceView& sequence : plan.host_sequences()) {
    hash_sequence(tokens, sequence, cache);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    DI_TRY(rows_[i].upload(graph_.device));
    if (graph_.observer != nullptr) {
      graph_.observer->on_engram_rows(layers[i], rows_[i].host);
    }
  }
  return Status::ok();
}

Status Engram::run(const EngramWeights& weights, int32_t layer, int64_t num_tokens,
                   float* streams) {
  const ModelConfig& config = graph_.config;
  const int64_t rows = round_up_rows(num_tokens);
  DI_TRY(values_.ensure(graph_.device, rows * weights.wkv.cols));
  DI_TRY(kv_.ensure(graph_.device, rows * weights.wkv.rows));
  const auto index = static_cast<size_t>(config.engram_index(layer));
  graph_.ops().engram_gather(graph_.context(), {.table = weights.table,
                                                .rows = rows_[index].data(),
                                                .num_tokens = num_tokens,
                                                .num_columns = hash_.num_columns(),
                                                .out = values_.data()});
  graph_.linear(values_.data(), num_tokens, weights.wkv, kv_.data());
  graph_.ops().engram_apply(graph_.context(), {.kv = kv_.data(),
                                               .q_weight = weights.q_weight,
                                               .k_weight = weights.k_weight,
                                               .num_tokens = num_tokens,
                                               .num_streams = config.hc_mult,
                                               .hidden_size = config.hidden_size,
                                               .eps = config.rms_norm_eps,
                                               .streams = streams});
  return Status::ok();
}

}  // namespace deepinfer::model
