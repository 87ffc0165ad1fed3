#include "model/moe.h"

#include <spdlog/fmt/fmt.h>

#include <string>

#include "model/tensor_inventory.h"

namespace deepinfer::model {
namespace {

ExpertWeights load_expert(WeightLoader& loader, const std::string& name) {
  return {.w1 = loader.matrix(name + ".w1.weight"),
          .w3 = loader.matrix(name + ".w3.weight"),
          .w2 = loader.matrix(name + ".w2.weight")};
}

}  // namespace

MoeWeights load_moe(WeightLoader& loader, const ModelConfig& config, int32_t layer) {
  const std::string name = block_prefix(config, layer) + ".ffn";
  MoeWeights weights;
  weights.gate = loader.bf16(name + ".gate.weight");
  weights.bias = loader.f32(name + ".gate.bias");
  for (int32_t expert = 0; expert < config.n_routed_experts; ++expert) {
    weights.experts.push_back(load_expert(loader, fmt::format("{}.experts.{}", name, expert)));
  }
  weights.shared = load_expert(loader, name + ".shared_experts");
  return weights;
}

Status Moe::ensure(int64_t num_tokens) {
  const ModelConfig& config = graph_.config;
  const int64_t rows = round_up_rows(num_tokens);
  const int64_t routed = rows * config.num_experts_per_tok;
  DI_TRY(ids_.ensure(graph_.device, routed));
  DI_TRY(gate_weights_.ensure(graph_.device, routed));
  DI_TRY(inputs_.ensure(graph_.device, routed * config.hidden_size));
  DI_TRY(gate_.ensure(graph_.device, (routed + rows) * config.moe_intermediate_size));
  DI_TRY(up_.ensure(graph_.device, (routed + rows) * config.moe_intermediate_size));
  return outputs_.ensure(graph_.device, (routed + rows) * config.hidden_size);
}

Status Moe::route(const MoeWeights& weights, const float* x, int64_t num_tokens) {
  const ModelConfig& config = graph_.config;
  graph_.ops().moe_gate(graph_.context(),
                        {.x = x,
                         .weight = weights.gate,
                         .bias = weights.bias,
                         .num_tokens = num_tokens,
                         .hidden_size = config.hidden_size,
                         .num_experts = config.n_routed_experts,
                         .top_k = config.num_experts_per_tok,
                         .normalize = config.norm_topk_prob && config.num_experts_per_tok > 1,
                         .scaling_factor = config.routed_scaling_factor,
                         .ids = ids_.data(),
                         .weights = gate_weights_.data()});
  const int64_t count = num_tokens * config.num_experts_per_tok;
  DI_TRY(graph_.download(host_ids_, ids_.data(), count));
  return graph_.download(host_weights_, gate_weights_.data(), count);
}

Status Moe::group(int64_t num_tokens) {
  const int64_t top_k = graph_.config.num_experts_per_tok;
  expert_begin_.assign(static_cast<size_t>(graph_.config.n_routed_experts) + 1, 0);
  for (const int32_t expert : host_ids_) {
    ++expert_begin_[static_cast<size_t>(expert) + 1];
  }
  for (size_t i = 1; i < expert_begin_.size(); ++i) {
    expert_begin_[i] += expert_begin_[i - 1];
  }
  const size_t routed = host_ids_.size();
  token_of_row_.host.resize(routed);
  row_of_.host.resize(routed);
  row_weights_.host.assign(routed + static_cast<size_t>(num_tokens), 1.0F);
  std::vector<int64_t> next = expert_begin_;
  for (size_t i = 0; i < routed; ++i) {
    const int64_t row = next[static_cast<size_t>(host_ids_[i])]++;
    row_of_.host[i] = row;
    token_of_row_.host[static_cast<size_t>(row)] = static_cast<int64_t>(i) / top_k;
    row_weights_.host[static_cast<size_t>(row)] = host_weights_[i];
  }
  DI_TRY(token_of_row_.upload(graph_.device));
  DI_TRY(row_of_.upload(graph_.device));
  return row_weights_.upload(graph_.device);
}

void Moe::run_experts(const MoeWeights& weights, const float* x, int64_t num_tokens) {
  const int64_t width = graph_.config.hidden_size;
  const int64_t hidden = graph_.config.moe_intermediate_size;
  const int64_t routed = token_of_row_.size();
  graph_.ops().gather_rows(graph_.context(), {.src = x,
                                              .src_stride = width,
                                              .indices = token_of_row_.data(),
                                              .num_rows = routed,
                                              .width = width,
                                              .dst = inputs_.data(),
                                              .dst_stride = width});
  std::vector<kernels::LinearProblem> first;
  std::vector<kernels::LinearProblem> second;
  const auto add = [&](const ExpertWeights& expert, const float* input, int64_t row,
                       int64_t count) {
    float* gate = gate_.data() + row * hidden;
    first.push_back(dense_problem(input, count, expert.w1, gate));
    first.push_back(dense_problem(input, count, expert.w3, up_.data() + row * hidden));
    second.push_back(dense_problem(gate, count, expert.w2, outputs_.data() + row * width));
  };
  for (size_t e = 0; e < weights.experts.size(); ++e) {
    const int64_t row = expert_begin_[e];
    const int64_t count = expert_begin_[e + 1] - row;
    if (count > 0) {
      add(weights.experts[e], inputs_.data() + row * width, row, count);
    }
  }
  add(weights.shared, x, routed, num_tokens);
  graph_.linear(first);
  graph_.ops().swiglu(graph_.context(), {.gate = gate_.data(),
                                         .up = up_.data(),
                                         .num_rows = routed + num_tokens,
                                         .width = hidden,
                                         .limit = graph_.config.swiglu_limit,
                                         .row_weight = row_weights_.data(),
                                         .out = gate_.data()});
  graph_.linear(second);
}

void Moe::combine(int64_t num_tokens, float* y) {
  const int64_t width = graph_.config.hidden_size;
  graph_.ops().moe_combine(graph_.context(), {.base = outputs_.data() + row_of_.size() * width,
                                              .rows = outputs_.data(),
                                              .row_of = row_of_.data(),
                                              .num_tokens = num_tokens,
                                              .top_k = graph_.config.num_experts_per_tok,
                                              .width = width,
                                              .out = y});
}

Status Moe::run(const MoeWeights& weights, int32_t layer, const float* x, int64_t num_tokens,
                float* y) {
  DI_TRY(ensure(num_tokens));
  DI_TRY(route(weights, x, num_tokens));
  if (graph_.observer != nullptr) {
    graph_.observer->on_experts(layer, host_ids_, host_weights_);
  }
  DI_TRY(group(num_tokens));
  run_experts(weights, x, num_tokens);
  combine(num_tokens, y);
  return Status::ok();
}

}  // namespace deepinfer::model
