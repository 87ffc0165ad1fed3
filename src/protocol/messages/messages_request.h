#pragma once

/// A Messages request as it stands in the body: types checked, ranges and meaning not yet
/// (recipe spec §9).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "protocol/request_parts.h"
#include "recipe/chat.h"

namespace deepinfer::protocol {

struct MessagesImage {
  enum class Source { kBase64, kUrl, kFile };
  Source source = Source::kBase64;
  /// Of base64 data: `image/png`.
  std::string media_type;
  /// The data, the URL or the id.
  std::string value;
};

struct MessagesBlock {
  enum class Kind {
    kText,
    kImage,
    kDocument,
    kThinking,
    kRedactedThinking,
    kToolUse,
    kToolResult,
    kServerToolUse,
    kWebSearchResult,
    kToolAddition,
    kToolReference,
  };
  Kind kind = Kind::kText;
  /// Of text, thinking and documents of plain text.
  std::string text;
  MessagesImage image;
  /// Of a document, if it says so.
  std::optional<std::string> media_type;
  /// The document's text is known.
  bool has_text = false;
  /// Of a call or the call that a result answers.
  std::string id;
  /// Of a called, added or referenced tool.
  std::string name;
  /// Arguments of a call.
  Json input;
  /// Of a result.
  std::vector<MessagesBlock> content;
};

struct MessagesMessage {
  /// User, assistant or system.
  recipe::Role role = recipe::Role::kUser;
  /// A string is one text block.
  std::vector<MessagesBlock> content;
};

struct MessagesTool {
  RequestTool tool;
  /// Set for tools that the provider would run.
  std::optional<std::string> type;
};

struct MessagesRequest {
  std::string model;
  std::vector<MessagesMessage> messages;
  /// Absent differs from empty.
  std::optional<std::vector<std::string>> system;
  /// `system` is a list of blocks.
  bool system_is_list = false;
  std::optional<uint32_t> max_tokens;
  bool stream = false;
  std::optional<float> temperature;
  std::optional<float> top_p;
  std::vector<std::string> stop_sequences;
  std::optional<RequestThinking> thinking;
  std::optional<EffortName> effort;
  std::vector<MessagesTool> tools;
  std::optional<RequestToolChoice> tool_choice;

  // Beyond the reference.
  std::optional<int32_t> top_k;
  std::optional<RequestFormat> format;
};

/// Reads a body. kInvalidArgument, with the member as param, if it is not JSON or not of this
/// shape.
Result<MessagesRequest> parse_messages_request(std::string_view body, const RecipePolicy& policy);

}  // namespace deepinfer::protocol
