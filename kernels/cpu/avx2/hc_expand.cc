#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/hc_expand.h"

namespace deepinfer::kernels::avx2 {

void hc_expand(const OpContext& context, const HcExpandArgs& args) {
  run_hc_expand(context, args);
}

}  // namespace deepinfer::kernels::avx2
