#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out = x / sqrt(mean(x²) + eps) * weight
void rms_norm(const OpContext& context, const RmsNormArgs& args) {
  const int64_t width = args.width;
  parallel_for(context, args.num_rows, grain_for(width), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = args.x + r * args.x_stride;
      float* out = args.out + r * args.out_stride;
      float squares = 0;
      for (int64_t i = 0; i < width; ++i) {
        squares += x[i] * x[i];
      }
      const float rms = sqrtf(squares / static_cast<float>(width) + args.eps);
      for (int64_t i = 0; i < width; ++i) {
        out[i] = x[i] / rms * decode_bf16(args.weight[i]);
      }
    }
  });
}

}  // namespace deepinfer::kernels::reference
