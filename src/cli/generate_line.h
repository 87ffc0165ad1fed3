#pragma once

/// The line protocol of `deepinfer-cli generate`: one JSON object per request in, one per answer
/// out (docs/command-line.md).

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/batch_runner.h"
#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "recipe/recipe.h"

namespace deepinfer::cli {

using Json = nlohmann::ordered_json;

/// `max_tokens` of a line that brings none.
inline constexpr int32_t kDefaultMaxTokens = 256;

/// A line as read: who asked, and what for. `request` holds the failure of a line that asks for
/// nothing we can run.
struct GenerateLine {
  /// The line's `id` as it stands; the 1-based line number if it has none.
  Json id;
  Result<GenerateRequest> request;
};

/// Reads one line. Exactly one of `prompt_token_ids`, `prompt` (plain text after BOS: spellings
/// of control tokens stay text) and `messages` (rendered as a chat completion of the model;
/// `tools`, `thinking` and `reasoning_effort` may stand beside it). An unknown member is an error.
GenerateLine parse_generate_line(std::string_view text, int64_t line_number, const ModelInfo& model,
                                 const recipe::Recipe& recipe);

/// The answer to the line `id`, without line end: `{"id", "token_ids", "text", "finish_reason",
/// "usage", "logits"?}` or `{"id", "error"}`. `text` leaves out the token that ended the
/// generation.
std::string format_generate_line(const Json& id, const Outcome& outcome,
                                 const recipe::Tokenizer& tokenizer);

}  // namespace deepinfer::cli
