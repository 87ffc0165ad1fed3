#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// dst[i] = src[indices[i]]
void gather_rows(const OpContext& context, const GatherRowsArgs& args) {
  parallel_for(context, args.num_rows, grain_for(args.width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      memcpy(args.dst + i * args.dst_stride, args.src + args.indices[i] * args.src_stride,
             static_cast<size_t>(args.width) * sizeof(float));
    }
  });
}

}  // namespace deepinfer::kernels::reference
