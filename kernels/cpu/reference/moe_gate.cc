#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/ranking.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// softplus(z) = log(1 + e^z), without overflow.
float softplus(float z) {
  return fmaxf(z, 0.0f) + log1pf(expf(-fabsf(z)));
}

// score[e] = sqrt(softplus(weight[e] · x)), in float32.
void expert_scores(const MoeGateArgs& args, const float* x, float* scores) {
  for (int64_t e = 0; e < args.num_experts; ++e) {
    const uint16_t* row = args.weight + e * args.hidden_size;
    float dot = 0;
    for (int64_t i = 0; i < args.hidden_size; ++i) {
      dot += decode_bf16(row[i]) * x[i];
    }
    scores[e] = sqrtf(softplus(dot));
  }
}

// chosen = the top_k largest score + bias; weight = score / (sum of chosen + 1e-20) * factor.
void route(const MoeGateArgs& args, const float* scores, int32_t* ids, float* weights,
           std::vector<uint64_t>& keys) {
  keys.clear();
  for (int64_t e = 0; e < args.num_experts; ++e) {
    keys.push_back(ranking_key(scores[e] + args.bias[e], static_cast<uint32_t>(e)));
  }
  std::sort(keys.begin(), keys.end(), std::greater<>());
  float sum = 0;
  for (int32_t i = 0; i < args.top_k; ++i) {
    ids[i] = ranking_index(keys[static_cast<size_t>(i)]);
    weights[i] = scores[ids[i]];
    sum += weights[i];
  }
  const bool normalize = args.normalize && args.top_k > 1;
  for (int32_t i = 0; i < args.top_k; ++i) {
    weights[i] = (normalize ? weights[i] / (sum + 1e-20f) : weights[i]) * args.scaling_factor;
  }
}

}  // namespace

void moe_gate(const OpContext& context, const MoeGateArgs& args) {
  parallel_for(context, args.num_tokens, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> scores(static_cast<size_t>(args.num_experts));
    std::vector<uint64_t> keys;
    for (int64_t t = begin; t < end; ++t) {
      expert_scores(args, args.x + t * args.hidden_size, scores.data());
      route(args, scores.data(), args.ids + t * args.top_k, args.weights + t * args.top_k, keys);
    }
  });
}

}  // namespace deepinfer::kernels::reference
