#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// out = silu(min(gate, limit)) * clamp(up, -limit, limit) * row_weight
void swiglu(const OpContext& context, const SwigluArgs& args) {
  parallel_for(context, args.num_rows, grain_for(20 * args.width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * args.width; i < end * args.width; ++i) {
      float gate = args.gate[i];
      float up = args.up[i];
      if (args.limit > 0) {
        gate = gate > args.limit ? args.limit : gate;
        up = up > args.limit ? args.limit : up < -args.limit ? -args.limit : up;
      }
      const float hidden = gate * sigmoid(gate) * up;
      args.out[i] = args.row_weight == nullptr ? hidden : hidden * args.row_weight[i / args.width];
    }
  });
}

}  // namespace deepinfer::kernels::reference
