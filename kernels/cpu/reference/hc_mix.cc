#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// c / (sum of c over its row + eps), for every row; the stride picks rows or columns.
void normalize(float* c, int64_t size, int64_t outer_stride, int64_t inner_stride, float eps) {
  for (int64_t a = 0; a < size; ++a) {
    float sum = 0;
    for (int64_t b = 0; b < size; ++b) {
      sum += c[a * outer_stride + b * inner_stride];
    }
    for (int64_t b = 0; b < size; ++b) {
      c[a * outer_stride + b * inner_stride] /= sum + eps;
    }
  }
}

// c = softmax(Z, rows) + eps; columns; then (iters - 1) times rows and columns.
void sinkhorn(float* c, int64_t size, int32_t iters, float eps) {
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

// u[i] = (fn[i] · s) / sqrt(mean(s²) + rms_eps), then
// pre = sigmoid(u * scale[0] + base) + hc_eps, post = 2 * sigmoid(u * scale[1] + base),
// comb = sinkhorn(u * scale[2] + base).
void mix_token(const HcMixArgs& args, int64_t t) {
  const int64_t streams = args.num_streams;
  const int64_t width = streams * args.hidden_size;
  const float* s = args.streams + t * width;
  float* pre = args.pre + t * streams;
  float* post = args.post + t * streams;
  float* comb = args.comb + t * streams * streams;
  float squares = 0;
  for (int64_t i = 0; i < width; ++i) {
    squares += s[i] * s[i];
  }
  const float inv_rms = 1.0f / sqrtf(squares / static_cast<float>(width) + args.rms_eps);
  for (int64_t row = 0; row < (2 + streams) * streams; ++row) {
    const float* fn = args.fn + row * width;
    float dot = 0;
    for (int64_t i = 0; i < width; ++i) {
      dot += fn[i] * s[i];
    }
    const float u = dot * inv_rms;
    if (row < streams) {
      pre[row] = sigmoid(u * args.scale[0] + args.base[row]) + args.hc_eps;
    } else if (row < 2 * streams) {
      post[row - streams] = 2.0f * sigmoid(u * args.scale[1] + args.base[row]);
    } else {
      comb[row - 2 * streams] = u * args.scale[2] + args.base[row];
    }
  }
  sinkhorn(comb, streams, args.sinkhorn_iters, args.hc_eps);
}

}  // namespace

void hc_mix(const OpContext& context, const HcMixArgs& args) {
  parallel_for(context, args.num_tokens, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      mix_token(args, t);
    }
  });
}

}  // namespace deepinfer::kernels::reference
