#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/moe_combine.h"

namespace deepinfer::kernels::avx2 {

void moe_combine(const OpContext& context, const MoeCombineArgs& args) {
  run_moe_combine(context, args);
}

}  // namespace deepinfer::kernels::avx2
