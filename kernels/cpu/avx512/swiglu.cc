#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/swiglu.h"

namespace deepinfer::kernels::avx512 {

void swiglu(const OpContext& context, const SwigluArgs& args) {
  run_swiglu(context, args);
}

}  // namespace deepinfer::kernels::avx512
