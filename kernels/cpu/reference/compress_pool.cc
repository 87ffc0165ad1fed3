#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out[j, c] = sum_t softmax_t(gates[j, :, c])[t] * values[j, t, c]
void compress_pool(const OpContext& context, const CompressPoolArgs& args) {
  const int64_t width = args.width;
  const int64_t group = args.ratio * width;
  parallel_for(context, args.num_entries, grain_for(10 * group), [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t c = 0; c < width; ++c) {
        const float* gates = args.gates + j * group + c;
        const float* values = args.values + j * group + c;
        float top = gates[0];
        for (int64_t t = 1; t < args.ratio; ++t) {
          top = fmaxf(top, gates[t * width]);
        }
        float denominator = 0;
        float sum = 0;
        for (int64_t t = 0; t < args.ratio; ++t) {
          const float weight = expf(gates[t * width] - top);
          denominator += weight;
          sum += weight * values[t * width];
        }
        args.out[j * width + c] = sum / denominator;
      }
    }
  });
}

}  // namespace deepinfer::kernels::reference
