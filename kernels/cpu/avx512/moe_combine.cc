#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/moe_combine.h"

namespace deepinfer::kernels::avx512 {

void moe_combine(const OpContext& context, const MoeCombineArgs& args) {
  run_moe_combine(context, args);
}

}  // namespace deepinfer::kernels::avx512
