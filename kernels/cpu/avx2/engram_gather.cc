#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx2/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/engram_gather.h"

namespace deepinfer::kernels::avx2 {

void engram_gather(const OpContext& context, const EngramGatherArgs& args) {
  run_engram_gather(context, args);
}

}  // namespace deepinfer::kernels::avx2
