#pragma once

/// Reads what a scripted engine should play from JSON:
///
///     {"hello": [{"text": "Hi"}, {"text": " there", "delay_ms": 5}],
///      "endless": [{"text": "x", "delay_ms": 5, "repeat": true}],
///      "boom": [{"text": "so far"}, {"fail": "the engine broke"}],
///      "full": [{"refuse": "server_overloaded"}],
///      "*": [{"ids": [17, 18]}]}
///
/// A request plays the list whose marker word stands last in its prompt, else that of `*`, else
/// it ends at once. `text` may hold control tokens by their spelling; all tokens of a step come
/// in one output unless `"per_token": true` gives each an output (and the delay) of its own.

#include <string>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "recipe/tokenizer.h"
#include "support/scripted_llm.h"

namespace deepinfer::testing {

/// Scripts by marker. Errors name the marker and the member at fault. `tokenizer` must outlive
/// the result.
Result<ScriptedLlm::ScriptFor> parse_scenario(const std::string& json,
                                              const recipe::Tokenizer& tokenizer);

}  // namespace deepinfer::testing
