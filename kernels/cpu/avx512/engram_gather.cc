#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/engram_gather.h"

namespace deepinfer::kernels::avx512 {

void engram_gather(const OpContext& context, const EngramGatherArgs& args) {
  run_engram_gather(context, args);
}

}  // namespace deepinfer::kernels::avx512
