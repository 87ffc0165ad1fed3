#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/index_scores.h"

namespace deepinfer::kernels::avx512 {

void index_scores(const OpContext& context, const IndexScoresArgs& args) {
  run_index_scores(context, args);
}

}  // namespace deepinfer::kernels::avx512
