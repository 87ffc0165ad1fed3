#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out[t, c] = table[rows[t, c]], scales applied
void engram_gather(const OpContext& context, const EngramGatherArgs& args) {
  const int64_t dim = args.table.cols;
  parallel_for(context, args.num_tokens * args.num_columns, grain_for(10 * dim),
               [&](int64_t begin, int64_t end) {
                 for (int64_t item = begin; item < end; ++item) {
                   for (int64_t i = 0; i < dim; i += kScaleColumns) {
                     const int64_t count = dim - i < kScaleColumns ? dim - i : kScaleColumns;
                     decode_segment(args.table, args.rows[item], i, count,
                                    args.out + item * dim + i);
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
