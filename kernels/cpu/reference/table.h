#pragma once

/// The reference variant: every op as plain loops, the oracle of all other variants.

#include "kernels/ops.h"

namespace deepinfer::kernels::reference {

void embed(const OpContext& context, const EmbedArgs& args);
void rms_norm(const OpContext& context, const RmsNormArgs& args);
void hc_mix(const OpContext& context, const HcMixArgs& args);
void hc_collapse(const OpContext& context, const HcCollapseArgs& args);
void hc_expand(const OpContext& context, const HcExpandArgs& args);
void linear(const OpContext& context, const LinearArgs& args);
void rope(const OpContext& context, const RopeArgs& args);
void scatter_rows(const OpContext& context, const ScatterRowsArgs& args);
void gather_rows(const OpContext& context, const GatherRowsArgs& args);
void compress_pool(const OpContext& context, const CompressPoolArgs& args);
void index_scores(const OpContext& context, const IndexScoresArgs& args);
void candidate_blocks(const OpContext& context, const CandidateBlocksArgs& args);
void select_top_k(const OpContext& context, const SelectTopKArgs& args);
void sparse_attention(const OpContext& context, const SparseAttentionArgs& args);
void moe_gate(const OpContext& context, const MoeGateArgs& args);
void swiglu(const OpContext& context, const SwigluArgs& args);
void moe_combine(const OpContext& context, const MoeCombineArgs& args);
void engram_gather(const OpContext& context, const EngramGatherArgs& args);
void engram_apply(const OpContext& context, const EngramApplyArgs& args);

/// Sets every slot.
void fill(OpTable& ops);

}  // namespace deepinfer::kernels::reference
