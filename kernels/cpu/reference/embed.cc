#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// streams[t, m] = table[ids[t]]
void embed(const OpContext& context, const EmbedArgs& args) {
  const int64_t width = args.hidden_size;
  parallel_for(context, args.num_tokens, grain_for(width * args.num_streams),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const uint16_t* row = args.table + args.ids[t] * width;
                   for (int64_t m = 0; m < args.num_streams; ++m) {
                     float* out = args.streams + (t * args.num_streams + m) * width;
                     for (int64_t i = 0; i < width; ++i) {
                       out[i] = decode_bf16(row[i]);
                     }
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
