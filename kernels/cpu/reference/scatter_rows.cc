#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// dst[indices[i]] = src[i]
void scatter_rows(const OpContext& context, const ScatterRowsArgs& args) {
  parallel_for(context, args.num_rows, grain_for(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      memcpy(args.dst + args.indices[i] * args.width, args.src + i * args.src_stride,
             static_cast<size_t>(args.width) * sizeof(float));
    }
  });
}

}  // namespace deepinfer::kernels::reference
