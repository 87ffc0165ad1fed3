#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out[t] = base[t] + sum_i rows[row_of[t, i]], i ascending
void moe_combine(const OpContext& context, const MoeCombineArgs& args) {
  const int64_t width = args.width;
  parallel_for(context, args.num_tokens, grain_for(width * (args.top_k + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   for (int64_t c = 0; c < width; ++c) {
                     float sum = args.base[t * width + c];
                     for (int64_t i = 0; i < args.top_k; ++i) {
                       sum += args.rows[args.row_of[t * args.top_k + i] * width + c];
                     }
                     args.out[t * width + c] = sum;
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
