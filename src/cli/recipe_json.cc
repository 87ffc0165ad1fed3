#include "cli/recipe_json.h"

#include <array>
#include <string_view>
#include <utility>

namespace deepinfer::cli {

using namespace protocol;  // the cases are records of that layer
namespace {

using recipe::ChatMessage;
using recipe::ImageSource;
using recipe::ThinkingStage;
using recipe::ToolDeclaration;

template <typename T>
struct Name {
  std::string_view name;
  T value;
};

template <typename T, size_t N>
T by_name(const Name<T> (&names)[N], std::string_view name, T fallback) {
  for (const auto& row : names) {
    if (row.name == name) {
      return row.value;
    }
  }
  return fallback;
}

template <typename T, size_t N>
std::string_view name_of(const Name<T> (&names)[N], T value) {
  for (const auto& row : names) {
    if (row.value == value) {
      return row.name;
    }
  }
  return {};
}

constexpr Name<recipe::Role> kRoles[] = {
    {"system", recipe::Role::kSystem},
    {"user", recipe::Role::kUser},
    {"assistant", recipe::Role::kAssistant},
    {"tool", recipe::Role::kTool},
    {"latest_reminder", recipe::Role::kLatestReminder},
};
constexpr Name<ImageSource::Kind> kImages[] = {
    {"url", ImageSource::Kind::kUrl},
    {"data_url", ImageSource::Kind::kDataUrl},
    {"bytes", ImageSource::Kind::kBytes},
};
constexpr Name<recipe::ToolChoice> kChoices[] = {
    {"auto", recipe::ToolChoice::kAuto},
    {"none", recipe::ToolChoice::kNone},
    {"required", recipe::ToolChoice::kRequired},
};
constexpr Name<recipe::ReasoningEffort> kEfforts[] = {
    {"low", recipe::ReasoningEffort::kLow},
    {"high", recipe::ReasoningEffort::kHigh},
    {"xhigh", recipe::ReasoningEffort::kXhigh},
    {"max", recipe::ReasoningEffort::kMax},
};
constexpr Name<recipe::ResponseFormat> kFormats[] = {
    {"text", recipe::ResponseFormat::kText},
    {"json_object", recipe::ResponseFormat::kJsonObject},
    {"json_schema", recipe::ResponseFormat::kJsonSchema},
    {"regex", recipe::ResponseFormat::kRegex},
};
constexpr Name<ThinkingStage> kStages[] = {
    {"reasoning_start", ThinkingStage::kReasoningStart},
    {"reasoning_continuation", ThinkingStage::kReasoningContinuation},
    {"content_continuation", ThinkingStage::kContentContinuation},
};
constexpr Name<OutputConstraint::Kind> kConstraints[] = {
    {"json", OutputConstraint::Kind::kJson},
    {"regex", OutputConstraint::Kind::kRegex},
    {"tool_call", OutputConstraint::Kind::kToolCall},
    {"tool_call_required", OutputConstraint::Kind::kToolCallRequired},
};

/// The member that holds an image's value, by kind.
std::string_view image_member(ImageSource::Kind kind) {
  return kind == ImageSource::Kind::kBytes ? "data_base64" : name_of(kImages, kind);
}

std::string text_or(const Json& object, const char* name, std::string fallback = {}) {
  return object.contains(name) && object[name].is_string() ? object[name].get<std::string>()
                                                           : std::move(fallback);
}

std::optional<std::string> optional_text(const Json& object, const char* name) {
  return object.contains(name) && object[name].is_string()
             ? std::optional(object[name].get<std::string>())
             : std::nullopt;
}

ToolDeclaration read_tool(const Json& tool) {
  ToolDeclaration result{.name = text_or(tool, "name"),
                         .description = optional_text(tool, "description"),
                         .parameters = tool.value("parameters", Json()),
                         .defer_loading = tool.value("defer_loading", false)};
  if (tool.contains("strict") && tool["strict"].is_boolean()) {
    result.strict = tool["strict"].get<bool>();
  }
  return result;
}

ImageSource read_image(const Json& image) {
  ImageSource result{.kind = by_name(kImages, text_or(image, "kind"), ImageSource::Kind::kUrl),
                     .detail = text_or(image, "detail", "high"),
                     .path = text_or(image, "path")};
  result.value = text_or(image, std::string(image_member(result.kind)).c_str());
  return result;
}

ChatMessage read_message(const Json& message) {
  ChatMessage result{
      .role = by_name(kRoles, text_or(message, "role"), recipe::Role::kUser),
      .content = text_or(message, "content"),
      .reasoning_content = optional_text(message, "reasoning_content"),
      .tool_call_id = optional_text(message, "tool_call_id"),
      .prefix = message.value("prefix", false),
  };
  for (const Json& image : message.value("images", Json::array())) {
    result.images.push_back(read_image(image));
  }
  if (message.contains("tools") && message["tools"].is_array()) {
    for (const Json& tool : message["tools"]) {
      result.tools.push_back(read_tool(tool));
    }
  }
  if (message.contains("tool_calls") && message["tool_calls"].is_array()) {
    for (const Json& call : message["tool_calls"]) {
      result.tool_calls.push_back(
          {text_or(call, "id"), text_or(call, "name"), text_or(call, "arguments")});
    }
  }
  return result;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (c == '=') {
      break;
    }
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) {
      return invalid_argument("body_base64 is not base64");
    }
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (++count % 4 != 1) {
      const int shift = 6 - 2 * ((count - 1) % 4);
      bytes += static_cast<char>(bits >> shift & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

Result<std::string> case_body(const Json& input) {
  if (input.contains("body_base64")) {
    return decode_base64(text_or(input, "body_base64"));
  }
  if (input.contains("body_text")) {
    return text_or(input, "body_text");
  }
  if (!input.contains("body")) {
    return invalid_argument("expected body, body_text or body_base64");
  }
  return input["body"].dump();
}

ConversionOptions case_options(const Json& input) {
  const Json given = input.value("options", Json::object());
  ConversionOptions options;
  if (!given.is_object()) {
    return options;
  }
  options.default_thinking_mode = given.value("default_thinking_mode", true);
  options.reject_missing_reasoning =
      text_or(given, "reasoning_content_behavior", "fill_empty") == "reject";
  options.drop_messages_web_search = text_or(given, "messages_web_search", "reject") == "drop";
  options.reject_responses_web_search = text_or(given, "responses_web_search", "drop") == "reject";
  options.thinking_max_tokens =
      given.value("thinking_max_tokens_upper_bound", options.thinking_max_tokens);
  options.non_thinking_max_tokens =
      given.value("non_thinking_max_tokens_upper_bound", options.non_thinking_max_tokens);
  if (given.contains("model_versions")) {
    options.models.clear();
  }
  for (const char* name : {"model_versions", "model_aliases"}) {
    const Json table = given.value(name, Json::object());
    for (const auto& [model, version] : table.items()) {
      options.models[model] = case_encoding(version.get<std::string>());
    }
  }
  return options;
}

recipe::Encoding case_encoding(const std::string& name) {
  return name == "v4" ? recipe::Encoding::kV4 : recipe::Encoding::kV41;
}

recipe::Conversation case_conversation(const Json& conversation) {
  recipe::Conversation result;
  for (const Json& message : conversation.value("messages", Json::array())) {
    result.messages.push_back(read_message(message));
  }
  result.thinking_mode = conversation.value("thinking_mode", true);
  for (const Json& tool : conversation.value("tools", Json::array())) {
    result.tools.push_back(read_tool(tool));
  }
  result.tool_choice =
      by_name(kChoices, text_or(conversation, "tool_choice"), recipe::ToolChoice::kAuto);
  if (const auto effort = optional_text(conversation, "reasoning_effort")) {
    result.reasoning_effort = by_name(kEfforts, *effort, recipe::ReasoningEffort::kHigh);
  }
  result.response_format =
      by_name(kFormats, text_or(conversation, "response_format"), recipe::ResponseFormat::kText);
  result.response_schema = conversation.value("response_schema", Json());
  result.response_regex = text_or(conversation, "response_regex");
  return result;
}

recipe::ParsingOptions case_parsing(const Json& parsing) {
  recipe::ParsingOptions result{
      .parse_tool_calls = parsing.value("parse_tool_calls", true),
      .starts_in_tool_calls = parsing.value("starts_in_tool_calls", false),
      .parse_json_output = parsing.value("parse_json_output", false),
      .thinking_initial_stage =
          by_name(kStages, text_or(parsing, "thinking_initial_stage"), ThinkingStage::kNone),
  };
  for (const Json& stop : parsing.value("stop_sequences", Json::array())) {
    result.stop_sequences.push_back(stop.get<std::string>());
  }
  return result;
}

Json parsing_json(const recipe::ParsingOptions& parsing) {
  const std::string_view stage = name_of(kStages, parsing.thinking_initial_stage);
  Json result = {{"parse_tool_calls", parsing.parse_tool_calls},
                 {"starts_in_tool_calls", parsing.starts_in_tool_calls},
                 {"parse_json_output", parsing.parse_json_output}};
  result["thinking_initial_stage"] = stage.empty() ? Json() : Json(stage);
  result["stop_sequences"] = Json::array();
  for (const std::string& stop : parsing.stop_sequences) {
    result["stop_sequences"].push_back(stop);
  }
  return result;
}

Json inference_options_json(const InferenceOptions& options) {
  Json result = Json::object();
  result["max_tokens"] = options.max_tokens ? Json(*options.max_tokens) : Json();
  result["temperature"] = static_cast<double>(options.temperature);
  result["top_p"] = static_cast<double>(options.top_p);
  result["logprobs"] = options.logprobs;
  result["top_logprobs"] = options.top_logprobs ? Json(*options.top_logprobs) : Json();
  result["seed"] = options.seed ? Json(*options.seed) : Json();
  Json& constraint = result["output_constraint"] = Json();
  if (options.output_constraint) {
    constraint["kind"] = name_of(kConstraints, options.output_constraint->kind);
    constraint["schema"] = options.output_constraint->schema;
  }
  return result;
}

void add_rendered(const recipe::RenderedPrompt& prompt, Json& target) {
  target["prompt"] = prompt.text;
  Json& ranges = target["special_ranges"] = Json::array();
  for (const auto& [begin, end] : prompt.special_ranges) {
    ranges.push_back(Json::array({begin, end}));
  }
  Json& images = target["images"] = Json::array();
  for (const ImageSource& image : prompt.images) {
    Json entry = {
        {"kind", name_of(kImages, image.kind)}, {"detail", image.detail}, {"path", image.path}};
    entry[std::string(image_member(image.kind))] = image.value;
    images.push_back(std::move(entry));
  }
}

}  // namespace deepinfer::cli
