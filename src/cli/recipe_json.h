#pragma once

/// Conversations, options and results as the recorded cases write them in JSON.

#include <string>

#include "deepinfer/status.h"
#include "protocol/conversion.h"
#include "recipe/chat_encoder.h"
#include "recipe/json_reader.h"

namespace deepinfer::cli {

using recipe::Json;

/// The exact bytes of the request of a case: `body`, `body_text` or `body_base64`.
Result<std::string> case_body(const Json& input);
protocol::ConversionOptions case_options(const Json& input);
recipe::Conversation case_conversation(const Json& conversation);
recipe::Encoding case_encoding(const std::string& name);
recipe::ParsingOptions case_parsing(const Json& parsing);

Json parsing_json(const recipe::ParsingOptions& parsing);
Json inference_options_json(const protocol::InferenceOptions& options);
/// `prompt`, `special_ranges` and `images` added to `target`.
void add_rendered(const recipe::RenderedPrompt& prompt, Json& target);

}  // namespace deepinfer::cli
