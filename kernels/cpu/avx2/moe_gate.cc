#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/moe_gate.h"

namespace deepinfer::kernels::avx2 {

void moe_gate(const OpContext& context, const MoeGateArgs& args) {
  run_moe_gate(context, args);
}

}  // namespace deepinfer::kernels::avx2
