#include "model/graph.h"

namespace deepinfer::model {

kernels::LinearProblem dense_problem(const float* x, int64_t num_tokens,
                                     const kernels::WeightView& weight, float* out) {
  return {.x = x,
          .x_stride = weight.cols,
          .num_tokens = num_tokens,
          .weight = weight,
          .out = out,
          .out_stride = weight.rows};
}

void Graph::linear(const float* x, int64_t num_tokens, const kernels::WeightView& weight,
                   float* out) const {
  const kernels::LinearProblem problem = dense_problem(x, num_tokens, weight, out);
  ops().linear(context(), {.problems = &problem, .num_problems = 1});
}

void Graph::linear(const std::vector<kernels::LinearProblem>& problems) const {
  ops().linear(context(), {.problems = problems.data(),
                           .num_problems = static_cast<int64_t>(problems.size())});
}

void Graph::rms_norm(float* x, int64_t num_rows, int64_t width, const uint16_t* weight) const {
  ops().rms_norm(context(), {.x = x,
                             .x_stride = width,
                             .weight = weight,
                             .num_rows = num_rows,
                             .width = width,
                             .eps = config.rms_norm_eps,
                             .out = x,
                             .out_stride = width});
}

void Graph::rope(float* x, int64_t num_rows, int64_t num_heads, int64_t head_dim,
                 const int32_t* positions, const float* inv_freq, bool inverse) const {
  ops().rope(context(), {.x = x,
                         .num_rows = num_rows,
                         .num_heads = num_heads,
                         .head_dim = head_dim,
                         .rope_dim = config.qk_rope_head_dim,
                         .positions = positions,
                         .inv_freq = inv_freq,
                         .inverse = inverse});
}

}  // namespace deepinfer::model
