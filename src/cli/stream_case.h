#pragma once

/// What the recorded streams of all protocols have in common.

#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/json_reader.h"
#include "recipe/recipe.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {

/// Ids of the markers as this tokenizer has them.
recipe::ControlTokens case_control_tokens(const recipe::Tokenizer* tokenizer);

/// The `ready` chunk if it comes first; only then it counts.
recipe::Json first_ready(const recipe::Json& input);

/// The case's parsing options if it has them, else those of its request.
recipe::ParsingOptions case_parsing_or(const recipe::Json& input,
                                       const recipe::ParsingOptions& converted);

/// The log probabilities of a chunk with these ids; empty if it has none.
std::vector<PositionLogprobs> case_logprobs(const recipe::Json& list,
                                            const std::vector<TokenId>& ids);

/// The tokenizer that a case wants: null if it does without. kFailedPrecondition if it wants
/// one and there is none.
Result<const recipe::Tokenizer*> case_tokenizer(const recipe::Json& input,
                                                const recipe::Tokenizer* tokenizer);

}  // namespace deepinfer::cli
