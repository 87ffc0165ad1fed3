#pragma once

/// A Chat Completions request as it stands in the body: types checked, ranges and meaning not
/// yet (recipe spec §2).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/constraint.h"
#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "protocol/request_parts.h"
#include "recipe/chat.h"
#include "recipe/json_reader.h"

namespace deepinfer::protocol {

using recipe::Json;

struct ContentPart {
  enum class Kind { kText, kImageUrl, kFile };
  Kind kind = Kind::kText;
  std::string text;
  std::string url;
  std::string detail = "high";
  std::optional<std::string> file_data;
  std::optional<std::string> file_id;
  std::optional<std::string> filename;
};

struct RequestMessage {
  recipe::Role role = recipe::Role::kUser;
  /// Absent differs from empty. A string is one text part.
  std::optional<std::vector<ContentPart>> content;
  std::optional<std::string> reasoning_content;
  std::optional<std::vector<recipe::ToolCall>> tool_calls;
  std::string tool_call_id;
  bool prefix = false;
};

struct RequestStop {
  bool is_list = false;
  std::vector<std::string> sequences;
};

struct StreamOptions {
  std::optional<bool> include_usage;
  /// Beyond the reference: every chunk carries the usage so far.
  std::optional<bool> continuous_usage_stats;
};

/// `chat_template_kwargs`: how clients of servers with templates switch thinking.
struct TemplateArguments {
  std::optional<bool> thinking;
  std::optional<bool> enable_thinking;
  std::optional<EffortName> reasoning_effort;
};

struct ChatRequest {
  std::string model;
  std::vector<RequestMessage> messages;
  bool stream = false;
  std::optional<StreamOptions> stream_options;
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<uint32_t> max_tokens;
  uint8_t n = 1;
  std::optional<uint64_t> seed;
  std::optional<RequestStop> stop;
  bool logprobs = false;
  std::optional<uint8_t> top_logprobs;
  std::optional<float> presence_penalty;
  std::optional<float> frequency_penalty;
  std::optional<RequestThinking> thinking;
  std::optional<EffortName> reasoning_effort;
  std::optional<RequestFormat> response_format;
  std::vector<RequestTool> tools;
  std::optional<RequestToolChoice> tool_choice;
  std::optional<bool> parallel_tool_calls;

  // Beyond the reference.
  std::optional<uint32_t> max_completion_tokens;
  std::optional<uint64_t> thinking_token_budget;
  TemplateArguments template_arguments;
  std::optional<int32_t> top_k;
  std::optional<float> min_p;
  std::optional<uint32_t> min_tokens;
  std::vector<int32_t> stop_token_ids;
  bool ignore_eos = false;
  std::optional<int32_t> priority;
  /// `guided_*` or `structured_outputs`.
  std::optional<ConstraintSpec> guided;
  /// An object, checked against the vocabulary when the engine request is made.
  Json logit_bias;
};

/// Reads a body. kInvalidArgument, with the member as param, if it is not JSON or not of this
/// shape.
Result<ChatRequest> parse_chat_request(std::string_view body, const RecipePolicy& policy);
/// The same for a body that was read already.
Result<ChatRequest> read_chat_request(const Json& json, const RecipePolicy& policy);

}  // namespace deepinfer::protocol
