#include "model/compressor.h"

namespace deepinfer::model {

CompressorWeights load_compressor(WeightLoader& loader, const std::string& attention,
                                  int32_t ratio) {
  CompressorWeights weights;
  weights.wkv = loader.matrix(attention + ".compressor.wkv.weight");
  if (ratio > 1) {
    weights.wgate = loader.matrix(attention + ".compressor.wgate.weight");
  }
  weights.norm = loader.bf16(attention + ".compressor.norm.weight");
  weights.index_wk = loader.matrix(attention + ".indexer.wk.weight");
  weights.index_norm = loader.bf16(attention + ".indexer.k_norm.weight");
  return weights;
}

Status Compressor::ensure(const RatioPlan& entries, int32_t ratio, int64_t num_tokens) {
  const int64_t channels = graph_.config.head_dim;
  const int64_t completed = round_up_rows(entries.max_entries);
  if (ratio > 1) {
    const int64_t rows = round_up_rows(num_tokens + entries.max_open_rows);
    DI_TRY(values_.ensure(graph_.device, rows * channels));
    DI_TRY(gates_.ensure(graph_.device, rows * channels));
    DI_TRY(value_groups_.ensure(graph_.device, completed * ratio * channels));
    DI_TRY(gate_groups_.ensure(graph_.device, completed * ratio * channels));
  }
  DI_TRY(latent_.ensure(graph_.device, completed * channels));
  return index_key_.ensure(graph_.device, completed * graph_.config.index_head_dim);
}

void Compressor::gather_groups(const RatioPlan& entries, int64_t num_tokens, const float* ring,
                               float* rows, float* groups) {
  const int64_t channels = graph_.config.head_dim;
  const auto gather = [&](const float* src, const StagedArray<int64_t>& indices, float* dst) {
    graph_.ops().gather_rows(graph_.context(), {.src = src,
                                                .src_stride = channels,
                                                .indices = indices.data(),
                                                .num_rows = indices.size(),
                                                .width = channels,
                                                .dst = dst,
                                                .dst_stride = channels});
  };
  gather(ring, entries.open_rows, rows + num_tokens * channels);
  gather(rows, entries.group_rows, groups);
}

void Compressor::pool(const CompressorWeights& weights, int32_t layer, const float* x,
                      const StepPlan& plan, KvCache& cache) {
  const int64_t channels = graph_.config.head_dim;
  const int32_t ratio = graph_.config.ratio(layer);
  const RatioPlan& entries = plan.ratio(ratio);
  graph_.linear({dense_problem(x, plan.num_tokens(), weights.wkv, values_.data()),
                 dense_problem(x, plan.num_tokens(), weights.wgate, gates_.data())});
  // Groups begun earlier are read from the ring before this step's rows overwrite it.
  gather_groups(entries, plan.num_tokens(), cache.open_values(layer), values_.data(),
                value_groups_.data());
  gather_groups(entries, plan.num_tokens(), cache.open_gates(layer), gates_.data(),
                gate_groups_.data());
  plan.open().scatter(graph_, values_.data(), channels, cache.open_values(layer));
  plan.open().scatter(graph_, gates_.data(), channels, cache.open_gates(layer));
  graph_.ops().compress_pool(graph_.context(), {.values = value_groups_.data(),
                                                .gates = gate_groups_.data(),
                                                .num_entries = entries.num_entries(),
                                                .ratio = ratio,
                                                .width = channels,
                                                .out = latent_.data()});
}

void Compressor::store(const RatioPlan& entries, const float* src, int64_t width, float* dst) {
  graph_.ops().scatter_rows(graph_.context(), {.src = src,
                                               .src_stride = width,
                                               .indices = entries.entry_rows.data(),
                                               .num_rows = entries.num_entries(),
                                               .width = width,
                                               .dst = dst});
}

Status Compressor::run(const CompressorWeights& weights, int32_t layer, const float* x,
                       const StepPlan& plan, KvCache& cache) {
  const int32_t ratio = graph_.config.ratio(layer);
  const RatioPlan& entries = plan.ratio(ratio);
  const int64_t count = entries.num_entries();
  const int64_t channels = graph_.config.head_dim;
  const int64_t index_channels = graph_.config.index_head_dim;
  DI_TRY(ensure(entries, ratio, plan.num_tokens()));
  if (ratio > 1) {
    pool(weights, layer, x, plan, cache);
  } else {
    graph_.linear(x, count, weights.wkv, latent_.data());
  }
  if (count == 0) {
    return Status::ok();
  }
  graph_.rms_norm(latent_.data(), count, channels, weights.norm);
  // The index key comes from the latent before it is rotated.
  graph_.linear(latent_.data(), count, weights.index_wk, index_key_.data());
  graph_.rms_norm(index_key_.data(), count, index_channels, weights.index_norm);
  const int32_t* positions = entries.entry_positions.data();
  graph_.rope(index_key_.data(), count, 1, index_channels, positions, inv_freq_, false);
  graph_.rope(latent_.data(), count, 1, channels, positions, inv_freq_, false);
  store(entries, index_key_.data(), index_channels, cache.index_keys(layer));
  store(entries, latent_.data(), channels, cache.entries(layer));
  return Status::ok();
}

}  // namespace deepinfer::model
