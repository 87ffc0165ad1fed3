#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out[t] = sum_m pre[t, m] * streams[t, m]
void hc_collapse(const OpContext& context, const HcCollapseArgs& args) {
  const int64_t width = args.hidden_size;
  parallel_for(context, args.num_tokens, grain_for(width * args.num_streams),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const float* streams = args.streams + t * args.num_streams * width;
                   const float* pre = args.pre + t * args.num_streams;
                   for (int64_t i = 0; i < width; ++i) {
                     float sum = 0;
                     for (int64_t m = 0; m < args.num_streams; ++m) {
                       sum += pre[m] * streams[m * width + i];
                     }
                     args.out[t * width + i] = sum;
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
