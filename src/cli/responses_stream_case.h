#pragma once

/// Plays a recorded backend stream through one response.

#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "recipe/json_reader.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {

/// The output of a `responses-stream` case: events per chunk, those of the end, and the
/// response. `tokenizer` is used unless the case says that the stream has none.
Result<recipe::Json> run_responses_stream_case(const recipe::Json& input,
                                               const recipe::Tokenizer* tokenizer,
                                               const protocol::RecipePolicy& policy);

}  // namespace deepinfer::cli
