#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// d = sum(S * q_weight * k_weight * key) / sqrt(mean(S²) + eps) / sqrt(mean(key²) + eps) / sqrt(D)
// gate = sigmoid(sign(d) * sqrt(max(|d|, 1e-6)))
float gate_of(const EngramApplyArgs& args, const float* stream, const float* key,
              const uint16_t* q_weight, const uint16_t* k_weight) {
  float stream_squares = 0;
  float key_squares = 0;
  float dot = 0;
  for (int64_t i = 0; i < args.hidden_size; ++i) {
    stream_squares += stream[i] * stream[i];
    key_squares += key[i] * key[i];
    dot += stream[i] * (decode_bf16(q_weight[i]) * decode_bf16(k_weight[i])) * key[i];
  }
  const float width = static_cast<float>(args.hidden_size);
  const float inv_rms =
      1.0f / sqrtf(stream_squares / width + args.eps) / sqrtf(key_squares / width + args.eps);
  const float d = dot * inv_rms / sqrtf(width);
  return sigmoid(copysignf(sqrtf(fmaxf(fabsf(d), 1e-6f)), d));
}

}  // namespace

void engram_apply(const OpContext& context, const EngramApplyArgs& args) {
  const int64_t width = args.hidden_size;
  const int64_t num_streams = args.num_streams;
  parallel_for(context, args.num_tokens * num_streams, grain_for(6 * width),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t t = item / num_streams;
                   const int64_t m = item % num_streams;
                   float* stream = args.streams + item * width;
                   const float* kv = args.kv + t * (num_streams + 1) * width;
                   const float* value = kv + num_streams * width;
                   const float gate = gate_of(args, stream, kv + m * width,
                                              args.q_weight + m * width, args.k_weight + m * width);
                   for (int64_t i = 0; i < width; ++i) {
                     stream[i] += gate * value[i];
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
