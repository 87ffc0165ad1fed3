#pragma once

/// A conversation in our own types: what every protocol is converted to and every prompt
/// encoding renders (recipe spec §1). Only tool and response schemas stay JSON, in order.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace deepinfer::recipe {

using Json = nlohmann::ordered_json;

enum class Role { kSystem, kUser, kAssistant, kTool, kLatestReminder };

/// An image placed in a message: at `offset` bytes into its text or, without one, where the
/// text spells the next image token. Sources are in the order of their places.
struct ImageSource {
  enum class Kind { kUrl, kDataUrl, kBytes };
  Kind kind = Kind::kUrl;
  std::string detail;
  std::string path;   ///< where in the request it came from, for messages
  std::string value;  ///< URL, data URL or base64
  std::optional<size_t> offset;
};

struct ToolDeclaration {
  std::string name;
  std::optional<std::string> description;
  Json parameters = Json::object();
  std::optional<bool> strict;
  bool defer_loading = false;
};

/// A call the assistant made earlier. `arguments` is the text as the client sent it.
struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;
};

struct ChatMessage {
  Role role = Role::kUser;
  std::string content;
  std::vector<ImageSource> images;
  /// Tools declared by a later system message.
  std::vector<ToolDeclaration> tools;
  /// Absent is not the same as empty (recipe spec §5).
  std::optional<std::string> reasoning_content;
  std::vector<ToolCall> tool_calls;
  std::optional<std::string> tool_call_id;
  /// The final assistant message, to be continued by the model.
  bool prefix = false;
};

enum class ToolChoice { kAuto, kNone, kRequired };
enum class ReasoningEffort { kLow, kHigh, kXhigh, kMax };
enum class ResponseFormat { kText, kJsonObject, kJsonSchema, kRegex };

struct Conversation {
  std::vector<ChatMessage> messages;
  bool thinking_mode = false;
  std::vector<ToolDeclaration> tools;
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::optional<ReasoningEffort> reasoning_effort;
  ResponseFormat response_format = ResponseFormat::kText;
  Json response_schema;
  std::string response_regex;
};

/// Where the output parser starts (recipe spec §3, "Parsing options").
enum class ThinkingStage { kNone, kReasoningStart, kReasoningContinuation, kContentContinuation };

struct ParsingOptions {
  bool parse_tool_calls = false;
  bool starts_in_tool_calls = false;
  bool parse_json_output = false;
  ThinkingStage thinking_initial_stage = ThinkingStage::kNone;
  std::vector<std::string> stop_sequences;
  /// The output ends with the first whole call.
  bool single_call = false;
  /// Reasoning that ends without its closing marker is given once more, as content.
  bool repeat_open_reasoning = false;
};

}  // namespace deepinfer::recipe
