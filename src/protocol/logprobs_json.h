#pragma once

/// Log probabilities as Chat Completions writes them (recipe spec §8).

#include <string>

#include "deepinfer/request.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// What stands for an impossible token's log probability, which JSON has no number for.
enum class Infinity { kNull, kFinite };

/// Written for minus infinity and NaN under Infinity::kFinite.
inline constexpr float kLowestLogprob = -9999.0F;

/// Appends `{"token", "logprob", "bytes", "top_logprobs": [...]}`.
void append_logprob_entry(const PositionLogprobs& position, const recipe::Tokenizer& tokenizer,
                          Infinity infinity, std::string& out);

}  // namespace deepinfer::protocol
