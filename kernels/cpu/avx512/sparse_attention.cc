#include "kernels/cpu/avx512/table.h"
#include "kernels/cpu/avx512/vec.h"
// vec.h first: the body is written against its names.
#include "kernels/cpu/simd/sparse_attention.h"

namespace deepinfer::kernels::avx512 {

void sparse_attention(const OpContext& context, const SparseAttentionArgs& args) {
  run_sparse_attention(context, args);
}

}  // namespace deepinfer::kernels::avx512
