#pragma once

/// Plays a recorded backend stream through one chat choice.

#include "deepinfer/status.h"
#include "protocol/json_reader.h"
#include "protocol/recipe_policy.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// `{"pushes", "end", "consumed", "sse_done", "response"}`, or `error` for a broken stream.
Result<Json> run_chat_stream_case(const Json& input, const recipe::Tokenizer* tokenizer,
                                  const RecipePolicy& policy);

}  // namespace deepinfer::protocol
