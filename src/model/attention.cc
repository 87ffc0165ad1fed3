#include "model/attention.h"

#include <cmath>
#include <utility>
#include <vector>

#include "model/rope.h"
#include "model/tensor_inventory.h"

namespace deepinfer::model {

AttentionWeights load_attention(WeightLoader& loader, const ModelConfig& config, int32_t layer) {
  const std::string name = block_prefix(config, layer) + ".attn";
  AttentionWeights weights;
  weights.wq_a = loader.matrix(name + ".wq_a.weight");
  weights.wq_b = loader.matrix(name + ".wq_b.weight");
  weights.wkv = loader.matrix(name + ".wkv.weight");
  weights.wo_a = loader.matrix(name + ".wo_a.weight");
  weights.wo_b = loader.matrix(name + ".wo_b.weight");
  weights.q_norm = loader.bf16(name + ".q_norm.weight");
  weights.kv_norm = loader.bf16(name + ".kv_norm.weight");
  weights.sink = loader.f32(name + ".attn_sink");
  if (config.is_kv_source(layer)) {
    weights.compressor = load_compressor(loader, name, config.ratio(layer));
  }
  if (config.is_index_source(layer)) {
    weights.indexer = load_indexer(loader, name);
  }
  return weights;
}

Result<Attention> Attention::create(const Graph& graph) {
  StagedArray<float> plain;
  StagedArray<float> compressed;
  plain.host = rope_frequencies(graph.config, false);
  compressed.host = rope_frequencies(graph.config, true);
  DI_TRY(plain.upload(graph.device));
  DI_TRY(compressed.upload(graph.device));
  return Attention(graph, std::move(plain), std::move(compressed));
}

Attention::Attention(const Graph& graph, StagedArray<float> plain, StagedArray<float> compressed)
    : graph_(graph),
      plain_freq_(std::move(plain)),
      compressed_freq_(std::move(compressed)),
      compressor_(graph, compressed_freq_.data()),
      indexer_(graph, compressed_freq_.data()) {}

Status Attention::ensure(int64_t num_tokens) {
  const ModelConfig& config = graph_.config;
  const int64_t rows = round_up_rows(num_tokens);
  const int64_t heads = int64_t{config.num_attention_heads} * config.head_dim;
  DI_TRY(low_.ensure(graph_.device, rows * config.q_lora_rank));
  DI_TRY(queries_.ensure(graph_.device, rows * heads));
  DI_TRY(keys_.ensure(graph_.device, rows * config.head_dim));
  DI_TRY(out_.ensure(graph_.device, rows * heads));
  return grouped_.ensure(graph_.device, rows * config.o_groups * config.o_lora_rank);
}

void Attention::project(const AttentionWeights& weights, const float* x, const StepPlan& plan,
                        const float* inv_freq) {
  const ModelConfig& config = graph_.config;
  const int64_t tokens = plan.num_tokens();
  graph_.linear({dense_problem(x, tokens, weights.wq_a, low_.data()),
                 dense_problem(x, tokens, weights.wkv, keys_.data())});
  graph_.rms_norm(low_.data(), tokens, config.q_lora_rank, weights.q_norm);
  graph_.rms_norm(keys_.data(), tokens, config.head_dim, weights.kv_norm);
  graph_.linear(low_.data(), tokens, weights.wq_b, queries_.data());
  graph_.rope(queries_.data(), tokens, config.num_attention_heads, config.head_dim,
              plan.positions(), inv_freq, false);
  graph_.rope(keys_.data(), tokens, 1, config.head_dim, plan.positions(), inv_freq, false);
}

void Attention::attend(const AttentionWeights& weights, int32_t layer, const StepPlan& plan,
                       KvCache& cache) {
  const ModelConfig& config = graph_.config;
  const int32_t ratio = config.ratio(layer);
  kernels::SparseAttentionArgs args = {
      .step = plan.view(),
      .q = queries_.data(),
      .num_heads = config.num_attention_heads,
      .head_dim = config.head_dim,
      .scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim)),
      .sink = weights.sink,
      .step_keys = keys_.data(),
      .ring = cache.window(layer),
      .ring_size = cache.window_ring(),
      .window = config.sliding_window,
      .out = out_.data()};
  if (ratio > 0) {
    args.entries = cache.entries(config.kv_source(layer));
    args.entries_per_block = plan.ratio(ratio).entries_per_block;
    args.selected = indexer_.selected();
    args.selected_stride = config.index_topk;
    args.selected_count = indexer_.count();
  }
  graph_.ops().sparse_attention(graph_.context(), args);
}

void Attention::project_output(const AttentionWeights& weights, int64_t num_tokens, float* y) {
  const ModelConfig& config = graph_.config;
  const int64_t rank = config.o_lora_rank;
  const int64_t out_width = config.o_groups * rank;
  const int64_t group_width = weights.wo_a.cols;
  std::vector<kernels::LinearProblem> groups;
  for (int64_t group = 0; group < config.o_groups; ++group) {
    groups.push_back({.x = out_.data() + group * group_width,
                      .x_stride = group_width * config.o_groups,
                      .num_tokens = num_tokens,
                      .weight = weights.wo_a.slice_rows(group * rank, rank),
                      .out = grouped_.data() + group * rank,
                      .out_stride = out_width});
  }
  graph_.linear(groups);
  graph_.linear(grouped_.data(), num_tokens, weights.wo_b, y);
}

Status Attention::run(const AttentionWeights& weights, int32_t layer, const float* x,
                      const StepPlan& plan, KvCache& cache, float* y) {
  const ModelConfig& config = graph_.config;
  const int64_t tokens = plan.num_tokens();
  const float* inv_freq = config.ratio(layer) > 0 ? compressed_freq_.data() : plain_freq_.data();
  DI_TRY(ensure(tokens));
  project(weights, x, plan, inv_freq);
  if (config.is_kv_source(layer)) {
    DI_TRY(compressor_.run(weights.compressor, layer, x, plan, cache));
  }
  if (config.is_index_source(layer)) {
    DI_TRY(indexer_.run(weights.indexer, layer, x, low_.data(), plan, cache));
  }
  attend(weights, layer, plan, cache);
  // Only now: the step's queries still needed the rows that its keys overwrite.
  plan.window().scatter(graph_, keys_.data(), config.head_dim, cache.window(layer));
  graph_.rope(out_.data(), tokens, config.num_attention_heads, config.head_dim, plan.positions(),
              inv_freq, true);
  project_output(weights, tokens, y);
  return Status::ok();
}

}  // namespace deepinfer::model
