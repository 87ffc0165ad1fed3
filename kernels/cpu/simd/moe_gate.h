#pragma once

/// Routing: the scores of all experts are a matrix product, the choice a scan per token.

#include "kernels/cpu/simd/common.h"
#include "kernels/cpu/simd/linear.h"

namespace deepinfer::kernels {
namespace {

/// Scores of one pass: 256 KiB.
constexpr int64_t kGateScores = 65536;

/// sqrt(softplus(z)), softplus(z) = log(1 + e^z) without overflow.
DI_INLINE float expert_score(float z) {
  return sqrtf(fmaxf(z, 0.0f) + log1pf(expf(-fabsf(z))));
}

DI_INLINE bool is_chosen(const int32_t* ids, int32_t count, int64_t expert) {
  for (int32_t i = 0; i < count; ++i) {
    if (ids[i] == expert) {
      return true;
    }
  }
  return false;
}

/// The best expert not chosen yet by score + bias; ties: smaller expert; NaN last.
inline int32_t best_expert(const MoeGateArgs& args, const float* scores, const int32_t* ids,
                           int32_t count) {
  int64_t best = -1;
  bool best_is_nan = false;
  for (int64_t e = 0; e < args.num_experts; ++e) {
    const float value = scores[e] + args.bias[e];
    const bool better =
        best < 0 || value > scores[best] + args.bias[best] || (best_is_nan && value == value);
    if (better && !is_chosen(ids, count, e)) {
      best = e;
      best_is_nan = value != value;
    }
  }
  return static_cast<int32_t>(best);
}

inline void route_token(const MoeGateArgs& args, int64_t t, float* scores) {
  for (int64_t e = 0; e < args.num_experts; ++e) {
    scores[e] = expert_score(scores[e]);
  }
  int32_t* ids = args.ids + t * args.top_k;
  float* weights = args.weights + t * args.top_k;
  float sum = 0;
  for (int32_t i = 0; i < args.top_k; ++i) {
    ids[i] = best_expert(args, scores, ids, i);
    weights[i] = scores[ids[i]];
    sum += weights[i];
  }
  const bool normalize_weights = args.normalize && args.top_k > 1;
  for (int32_t i = 0; i < args.top_k; ++i) {
    weights[i] =
        (normalize_weights ? weights[i] / (sum + 1e-20f) : weights[i]) * args.scaling_factor;
  }
}

inline void route_tokens(const OpContext& context, const MoeGateArgs& args, int64_t first_token,
                         int64_t tokens, float* scores) {
  const WeightView weight{.data = args.weight,
                          .scale = nullptr,
                          .dtype = DType::kBF16,
                          .scale_rows = 1,
                          .row_begin = 0,
                          .rows = args.num_experts,
                          .cols = args.hidden_size};
  const LinearProblem problem{.x = args.x + first_token * args.hidden_size,
                              .x_stride = args.hidden_size,
                              .num_tokens = tokens,
                              .weight = weight,
                              .out = scores,
                              .out_stride = args.num_experts};
  run_linear(context, {.problems = &problem, .num_problems = 1});
  parallel_for(context, tokens, grain_for(64 * args.num_experts), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      route_token(args, first_token + t, scores + t * args.num_experts);
    }
  });
}

inline void run_moe_gate(const OpContext& context, const MoeGateArgs& args) {
  alignas(64) float scores[kGateScores];
  const int64_t tokens_per_pass = kGateScores / args.num_experts;
  for (int64_t t = 0; t < args.num_tokens; t += tokens_per_pass) {
    route_tokens(context, args, t, smaller(tokens_per_pass, args.num_tokens - t), scores);
  }
}

}  // namespace
}  // namespace deepinfer::kernels
