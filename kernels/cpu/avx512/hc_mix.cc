#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/hc_mix.h"

namespace deepinfer::kernels::avx512 {

void hc_mix(const OpContext& context, const HcMixArgs& args) {
  run_hc_mix(context, args);
}

}  // namespace deepinfer::kernels::avx512
