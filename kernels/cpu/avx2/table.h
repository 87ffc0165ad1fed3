#pragma once

/// The AVX2 variant (with FMA and F16C): what dominates a step.

#include "kernels/ops.h"

namespace deepinfer::kernels::avx2 {

void rms_norm(const OpContext& context, const RmsNormArgs& args);
void hc_mix(const OpContext& context, const HcMixArgs& args);
void hc_collapse(const OpContext& context, const HcCollapseArgs& args);
void hc_expand(const OpContext& context, const HcExpandArgs& args);
void linear(const OpContext& context, const LinearArgs& args);
void index_scores(const OpContext& context, const IndexScoresArgs& args);
void sparse_attention(const OpContext& context, const SparseAttentionArgs& args);
void moe_gate(const OpContext& context, const MoeGateArgs& args);
void swiglu(const OpContext& context, const SwigluArgs& args);
void moe_combine(const OpContext& context, const MoeCombineArgs& args);
void engram_gather(const OpContext& context, const EngramGatherArgs& args);

/// Sets the slots this variant offers.
void fill(OpTable& ops);

}  // namespace deepinfer::kernels::avx2
