#include "kernels/cpu/avx512/table.h"

namespace deepinfer::kernels::avx512 {

void fill(OpTable& ops) {
  ops.rms_norm = rms_norm;
  ops.hc_mix = hc_mix;
  ops.hc_collapse = hc_collapse;
  ops.hc_expand = hc_expand;
  ops.linear = linear;
  ops.index_scores = index_scores;
  ops.sparse_attention = sparse_attention;
  ops.moe_gate = moe_gate;
  ops.swiglu = swiglu;
  ops.moe_combine = moe_combine;
  ops.engram_gather = engram_gather;
}

}  // namespace deepinfer::kernels::avx512
