#include "recipe/prompt_writer.h"

#include <array>
#include <optional>

#include "recipe/json_reader.h"

namespace deepinfer::recipe {
namespace {

constexpr std::array<std::string_view, 3> kSpecialInFixedTexts = {
    spelling::kThinkStart, spelling::kThinkEnd, spelling::kDsml};

/// The first control token in `text`, or its end.
std::pair<size_t, std::string_view> first_special(std::string_view text) {
  std::pair<size_t, std::string_view> first = {text.size(), {}};
  for (const std::string_view candidate : kSpecialInFixedTexts) {
    const size_t place = text.find(candidate);
    if (place < first.first) first = {place, candidate};
  }
  return first;
}

/// Arguments as an object, if that is what they spell.
std::optional<Json> arguments_object(const std::string& arguments) {
  auto value = read_json(arguments, {.max_depth = kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(*value);
}

std::vector<const ToolDeclaration*> not_deferred(const std::vector<ToolDeclaration>& tools) {
  std::vector<const ToolDeclaration*> result;
  for (const ToolDeclaration& tool : tools) {
    if (!tool.defer_loading) result.push_back(&tool);
  }
  return result;
}

}  // namespace

PromptWriter::PromptWriter(Encoding encoding, const Conversation& conversation,
                           std::string_view image_token)
    : texts_(prompt_texts(encoding)),
      conversation_(conversation),
      image_token_(image_token.empty() ? spelling::kImage : image_token),
      json_style_(encoding == Encoding::kV4 ? JsonStyle::kSpacedV4 : JsonStyle::kSpacedV41) {}

bool PromptWriter::tools_in_use() const {
  return !conversation_.tools.empty() && conversation_.tool_choice != ToolChoice::kNone;
}

void PromptWriter::special(std::string_view spelling) {
  const size_t begin = prompt_.text.size();
  prompt_.text.append(spelling);
  prompt_.special_ranges.emplace_back(begin, prompt_.text.size());
}

void PromptWriter::fixed(std::string_view rest) {
  while (!rest.empty()) {
    const auto [place, token] = first_special(rest);
    text(rest.substr(0, place));
    if (!token.empty()) special(token);
    rest.remove_prefix(place + token.size());
  }
}

void PromptWriter::message_text(const ChatMessage& message) {
  std::string_view rest = message.content;
  for (const ImageSource& image : message.images) {
    const size_t written = message.content.size() - rest.size();
    const size_t place = image.offset ? *image.offset - written : rest.find(image_token_);
    if (place > rest.size()) break;
    text(rest.substr(0, place));
    special(image_token_);
    rest.remove_prefix(place + (image.offset ? 0 : image_token_.size()));
  }
  text(rest);
  prompt_.images.insert(prompt_.images.end(), message.images.begin(), message.images.end());
}

void PromptWriter::tool_result(const ChatMessage& message) {
  text("<tool_result>");
  message_text(message);
  text("</tool_result>");
}

std::string_view PromptWriter::effort() const {
  if (!conversation_.thinking_mode) return {};
  if (!conversation_.reasoning_effort) return texts_.effort_default;
  switch (*conversation_.reasoning_effort) {
    case ReasoningEffort::kLow:
      return texts_.effort_low;
    case ReasoningEffort::kHigh:
      return texts_.effort_high;
    case ReasoningEffort::kXhigh:
      return texts_.effort_xhigh;
    case ReasoningEffort::kMax:
      return texts_.effort_max;
  }
  return {};
}

bool PromptWriter::has_tail() const {
  return tools_in_use() || conversation_.response_format == ResponseFormat::kJsonObject ||
         conversation_.response_format == ResponseFormat::kJsonSchema;
}

void PromptWriter::tail() {
  if (tools_in_use()) {
    fixed(texts_.tools_before_schemas);
    schema_lines(not_deferred(conversation_.tools));
    fixed(texts_.tools_after_schemas);
  }
  if (conversation_.response_format == ResponseFormat::kJsonObject) fixed(texts_.json_object);
  if (conversation_.response_format == ResponseFormat::kJsonSchema) {
    fixed(texts_.json_schema_before);
    append_json(conversation_.response_schema, json_style_, prompt_.text);
  }
}

void PromptWriter::updated_tools(const std::vector<ToolDeclaration>& tools) {
  if (tools.empty()) return;
  fixed(texts_.updated_tools_before_schemas);
  std::vector<const ToolDeclaration*> all;
  all.reserve(tools.size());
  for (const ToolDeclaration& tool : tools) all.push_back(&tool);
  schema_lines(all);
}

void PromptWriter::schema_lines(const std::vector<const ToolDeclaration*>& tools) {
  for (const ToolDeclaration* tool : tools) {
    if (tool != tools.front()) text("\n");
    text("{\"name\": ");
    append_json_string(tool->name, prompt_.text);
    text(", \"description\": ");
    append_json_string(tool->description.value_or(""), prompt_.text);
    text(", \"parameters\": ");
    append_json(tool->parameters, json_style_, prompt_.text);
    text("}");
  }
}

void PromptWriter::tag(std::string_view opening, std::string_view name) {
  text(opening);
  special(spelling::kDsml);
  text(name);
}

void PromptWriter::tool_calls(const std::vector<const ToolCall*>& calls) {
  if (calls.empty()) return;
  text("\n\n");
  tag("<", texts_.calls_tag);
  text(">\n");
  for (const ToolCall* call : calls) {
    tool_call(*call);
    text("\n");
  }
  tag("</", texts_.calls_tag);
  text(">");
}

void PromptWriter::tool_call(const ToolCall& call) {
  tag("<", texts_.tag_space);
  text("invoke name=\"");
  text(call.name);
  text("\">\n");
  const auto arguments = arguments_object(call.arguments);
  if (!arguments) {
    parameter("arguments", call.arguments);
  } else if (arguments->empty()) {
    if (texts_.empty_parameter_line) text("\n");
  } else {
    for (const auto& [key, value] : arguments->items()) parameter(key, value);
  }
  tag("</", texts_.tag_space);
  text("invoke>");
}

void PromptWriter::parameter(std::string_view key, const Json& value) {
  tag("<", texts_.tag_space);
  text("parameter name=\"");
  text(key);
  if (value.is_string()) {
    text("\" string=\"true\">");
    text(value.get_ref<const std::string&>());
  } else {
    text("\" string=\"false\">");
    append_json(value, json_style_, prompt_.text);
  }
  tag("</", texts_.tag_space);
  text("parameter>\n");
}

void PromptWriter::open_turn() {
  special(spelling::kAssistant);
  special(conversation_.thinking_mode ? spelling::kThinkStart : spelling::kThinkEnd);
}

void PromptWriter::required_tool_choice() {
  if (conversation_.tool_choice == ToolChoice::kRequired && tools_in_use()) {
    fixed(texts_.required_tool_choice_suffix);
  }
}

}  // namespace deepinfer::recipe
