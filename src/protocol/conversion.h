#pragma once

/// What every protocol's request is converted to: a conversation, options for the engine and
/// for the output parser (recipe spec §1, §3).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deepinfer/constraint.h"
#include "deepinfer/status.h"
#include "protocol/chat/chat_request.h"
#include "protocol/recipe_policy.h"
#include "recipe/chat.h"
#include "recipe/chat_encoder.h"

namespace deepinfer::protocol {

/// Settings of the server that decide how requests are read.
struct ConversionOptions {
  bool default_thinking_mode = true;
  /// Refuse tool calls whose reasoning was not passed back; otherwise it counts as empty.
  bool reject_missing_reasoning = false;
  /// Pass over web searches of the Messages protocol, which its provider would run; otherwise
  /// they are refused.
  bool drop_messages_web_search = false;
  /// Refuse web search in Responses requests; otherwise it is left out.
  bool reject_responses_web_search = false;
  /// See recipe::ParsingOptions.
  bool repeat_open_reasoning = false;
  uint32_t thinking_max_tokens = 393216;
  uint32_t non_thinking_max_tokens = 393216;
  /// Accepted model names and the prompt encoding each selects, in byte order.
  std::map<std::string, recipe::Encoding> models = {
      {"DeepSeek-V4-Pro", recipe::Encoding::kV4},
      {"DeepSeek-V4.1-Flash", recipe::Encoding::kV41},
  };
};

/// What guided decoding would have to enforce, as the reference writes it. What the engine gets is
/// `ConvertedRequest::constraint`.
struct OutputConstraint {
  enum class Kind { kJson, kRegex, kToolCall, kToolCallRequired };
  Kind kind = Kind::kJson;
  std::string schema;
};

struct InferenceOptions {
  std::optional<uint32_t> max_tokens;
  float temperature = 1.0F;
  float top_p = 1.0F;
  bool logprobs = false;
  std::optional<uint8_t> top_logprobs;
  std::optional<uint64_t> seed;
  std::optional<OutputConstraint> output_constraint;
};

struct ConvertedRequest {
  recipe::Encoding encoding = recipe::Encoding::kV41;
  bool stream = false;
  bool include_usage = false;
  /// Every chunk carries the usage so far; only with `include_usage`.
  bool continuous_usage = false;
  /// Most tokens of reasoning the client wants; 0 ends it at once.
  std::optional<uint64_t> thinking_budget;
  InferenceOptions options;
  /// What the engine enforces; the ids of control tokens come with the prompt.
  std::optional<ConstraintSpec> constraint;
  /// The schemas of the declared tools as the client wrote them.
  std::map<std::string, recipe::Json> tool_schemas;
  recipe::ParsingOptions parsing;
  recipe::Conversation conversation;
};

/// Most choices one request may ask for.
inline constexpr int32_t kMaxChoices = 16;

/// Checks and converts. The failure is that of the first check in the order of recipe spec §3;
/// message, param and reason are what the client sees.
Result<ConvertedRequest> convert_chat_request(const ChatRequest& request,
                                              const ConversionOptions& options,
                                              const RecipePolicy& policy);

/// The output limit of a prompt of `prompt_tokens` (recipe spec §11).
Result<uint32_t> resolve_max_tokens(const ConvertedRequest& request, uint64_t prompt_tokens,
                                    uint64_t context_limit, const RecipePolicy& policy);

/// The error body all protocols of the reference use:
/// `{"error": {"message", "type", "param", "code"}}`.
std::string error_body(const Status& status, const RecipePolicy& policy);

}  // namespace deepinfer::protocol
