#pragma once

/// The three mixes of a sub-layer: their matrix product is the op's cost and runs as a linear.

#include "kernels/cpu/simd/common.h"
#include "kernels/cpu/simd/linear.h"

namespace deepinfer::kernels {
namespace {

DI_INLINE float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

/// c / (sum of c over its row + eps), for every row; the strides pick rows or columns.
inline void normalize(float* c, int64_t size, int64_t outer_stride, int64_t inner_stride,
                      float eps) {
  for (int64_t a = 0; a < size; ++a) {
    float sum = 0;
    for (int64_t b = 0; b < size; ++b) {
      sum += c[a * outer_stride + b * inner_stride];
    }
    const float inv = 1.0f / (sum + eps);
    for (int64_t b = 0; b < size; ++b) {
      c[a * outer_stride + b * inner_stride] *= inv;
    }
  }
}

/// c = softmax(Z, rows) + eps; columns; then (iters - 1) times rows and columns.
inline void sinkhorn(float* c, int64_t size, int32_t iters, float eps) {
  for (int64_t j = 0; j < size; ++j) {
    float* row = c + j * size;
    float top = row[0];
    for (int64_t k = 1; k < size; ++k) {
      top = fmaxf(top, row[k]);
    }
    float sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      row[k] = expf(row[k] - top);
      sum += row[k];
    }
    for (int64_t k = 0; k < size; ++k) {
      row[k] = row[k] / sum + eps;
    }
  }
  normalize(c, size, 1, size, eps);
  for (int32_t i = 1; i < iters; ++i) {
    normalize(c, size, size, 1, eps);
    normalize(c, size, 1, size, eps);
  }
}

/// `pre`, `post` and `comb` hold fn · s; turns them into the mixes of the token.
inline void finish_mixes(const HcMixArgs& args, int64_t t) {
  const int64_t streams = args.num_streams;
  const int64_t width = streams * args.hidden_size;
  const float* s = args.streams + t * width;
  float* pre = args.pre + t * streams;
  float* post = args.post + t * streams;
  float* comb = args.comb + t * streams * streams;
  const float inv_rms = 1.0f / sqrtf(dot(s, s, width) / static_cast<float>(width) + args.rms_eps);
  for (int64_t m = 0; m < streams; ++m) {
    pre[m] = sigmoid(pre[m] * inv_rms * args.scale[0] + args.base[m]) + args.hc_eps;
    post[m] = 2.0f * sigmoid(post[m] * inv_rms * args.scale[1] + args.base[streams + m]);
  }
  for (int64_t i = 0; i < streams * streams; ++i) {
    comb[i] = comb[i] * inv_rms * args.scale[2] + args.base[2 * streams + i];
  }
  sinkhorn(comb, streams, args.sinkhorn_iters, args.hc_eps);
}

inline void run_hc_mix(const OpContext& context, const HcMixArgs& args) {
  const int64_t streams = args.num_streams;
  const int64_t width = streams * args.hidden_size;
  const auto problem = [&](int64_t first_row, int64_t rows, float* out) {
    const WeightView weight{.data = args.fn,
                            .scale = nullptr,
                            .dtype = DType::kF32,
                            .scale_rows = 1,
                            .row_begin = first_row,
                            .rows = rows,
                            .cols = width};
    return LinearProblem{.x = args.streams,
                         .x_stride = width,
                         .num_tokens = args.num_tokens,
                         .weight = weight,
                         .out = out,
                         .out_stride = rows};
  };
  const LinearProblem problems[3] = {problem(0, streams, args.pre),
                                     problem(streams, streams, args.post),
                                     problem(2 * streams, streams * streams, args.comb)};
  run_linear(context, {.problems = problems, .num_problems = 3});
  parallel_for(context, args.num_tokens, grain_for(width), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      finish_mixes(args, t);
    }
  });
}

}  // namespace
}  // namespace deepinfer::kernels
