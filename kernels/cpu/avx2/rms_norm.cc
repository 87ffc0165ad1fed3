#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/rms_norm.h"

namespace deepinfer::kernels::avx2 {

void rms_norm(const OpContext& context, const RmsNormArgs& args) {
  run_rms_norm(context, args);
}

}  // namespace deepinfer::kernels::avx2
