#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/hc_expand.h"

namespace deepinfer::kernels::avx512 {

void hc_expand(const OpContext& context, const HcExpandArgs& args) {
  run_hc_expand(context, args);
}

}  // namespace deepinfer::kernels::avx512
