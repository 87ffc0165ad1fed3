#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/hc_collapse.h"

namespace deepinfer::kernels::avx512 {

void hc_collapse(const OpContext& context, const HcCollapseArgs& args) {
  run_hc_collapse(context, args);
}

}  // namespace deepinfer::kernels::avx512
