#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

void fill(OpTable& ops) {
  ops.embed = embed;
  ops.rms_norm = rms_norm;
  ops.hc_mix = hc_mix;
  ops.hc_collapse = hc_collapse;
  ops.hc_expand = hc_expand;
  ops.linear = linear;
  ops.rope = rope;
  ops.scatter_rows = scatter_rows;
  ops.gather_rows = gather_rows;
  ops.compress_pool = compress_pool;
  ops.index_scores = index_scores;
  ops.candidate_blocks = candidate_blocks;
  ops.select_top_k = select_top_k;
  ops.sparse_attention = sparse_attention;
  ops.moe_gate = moe_gate;
  ops.swiglu = swiglu;
  ops.moe_combine = moe_combine;
  ops.engram_gather = engram_gather;
  ops.engram_apply = engram_apply;
}

}  // namespace deepinfer::kernels::reference
