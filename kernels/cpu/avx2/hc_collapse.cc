#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/hc_collapse.h"

namespace deepinfer::kernels::avx2 {

void hc_collapse(const OpContext& context, const HcCollapseArgs& args) {
  run_hc_collapse(context, args);
}

}  // namespace deepinfer::kernels::avx2
