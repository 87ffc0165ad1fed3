#pragma once

/// Rotary frequencies (model spec §4.3).

#include <vector>

#include "model/model_config.h"

namespace deepinfer::model {

/// inv_freq of each adjacent pair of the rotated channels: [qk_rope_head_dim / 2]. `compressed`
/// layers (ratio > 0) use compress_rope_theta and YaRN, the others rope_theta alone.
std::vector<float> rope_frequencies(const ModelConfig& config, bool compressed);

}  // namespace deepinfer::model
