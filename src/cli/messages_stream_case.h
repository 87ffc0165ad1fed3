#pragma once

/// Plays a recorded backend stream through one Messages answer.

#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "recipe/json_reader.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {

/// `{"pushes", "end", "consumed", "sse_done", "response"}`, or `error` for a broken stream.
Result<recipe::Json> run_messages_stream_case(const recipe::Json& input,
                                              const recipe::Tokenizer* tokenizer,
                                              const protocol::RecipePolicy& policy);

}  // namespace deepinfer::cli
