#pragma once

/// A Responses request as it stands in the body: types checked, ranges and meaning not yet
/// (recipe spec §10).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "protocol/request_parts.h"
#include "protocol/responses/responses_tool.h"

namespace deepinfer::protocol {

struct InputPart {
  enum class Kind { kText, kImage, kFile };
  Kind kind = Kind::kText;
  std::string text;
  std::optional<std::string> image_url;
  std::optional<std::string> file_id;
  std::string detail = "high";
};

enum class InputRole { kUser, kAssistant, kSystem, kDeveloper };

/// One item of `input`.
struct InputItem {
  enum class Kind {
    kMessage,
    kReasoning,
    kFunctionCall,
    kCustomCall,
    kSearchCall,
    kOutput,  ///< of a function or custom call
    kSearchOutput,
    kWebSearchCall,
    kUnknown,
  };
  Kind kind = Kind::kUnknown;
  /// `type` as spelled.
  std::string type;
  InputRole role = InputRole::kUser;
  /// Of a message or an output; a string is one text part.
  std::vector<InputPart> content;
  /// Texts of a reasoning item.
  std::vector<std::string> reasoning;
  std::optional<std::string> call_id;
  std::string name;
  /// Of the called function.
  std::optional<std::string> space;
  /// Arguments of a call as text; the input of a custom one.
  std::string arguments;
  /// What a search found.
  std::vector<ResponsesTool> tools;
};

/// `text`.
struct ResponsesText {
  recipe::ResponseFormat kind = recipe::ResponseFormat::kText;
  Json schema;
  std::string name;
  std::optional<std::string> description;
  std::optional<bool> strict;
  std::optional<std::string> verbosity;
};

struct ResponsesToolChoice {
  RequestToolChoice choice;
  /// Of a choice given as an object.
  std::string type;
};

struct ResponsesRequest {
  std::string model;
  std::optional<std::string> input_text;
  std::optional<std::vector<InputItem>> input_items;
  std::optional<std::string> instructions;
  std::optional<uint32_t> max_output_tokens;
  std::optional<EffortName> effort;
  /// The effort as the client spells it.
  std::optional<std::string> effort_spelled;
  std::optional<std::string> reasoning_summary;
  ResponsesText text;
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::optional<uint8_t> top_logprobs;
  std::vector<ResponsesTool> tools;
  std::optional<ResponsesToolChoice> tool_choice;
  bool stream = false;
  std::optional<std::string> user;

  // Beyond the reference.
  /// `include` asks for log probabilities.
  bool include_logprobs = false;
  std::optional<bool> parallel_tool_calls;
  std::optional<uint64_t> thinking_token_budget;
};

/// Reads a body. kInvalidArgument, with the member as param, if it is not JSON or not of this
/// shape.
Result<ResponsesRequest> parse_responses_request(std::string_view body, const RecipePolicy& policy);

}  // namespace deepinfer::protocol
