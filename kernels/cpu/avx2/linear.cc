#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/linear.h"

namespace deepinfer::kernels::avx2 {

void linear(const OpContext& context, const LinearArgs& args) {
  run_linear(context, args);
}

}  // namespace deepinfer::kernels::avx2
