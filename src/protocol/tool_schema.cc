#include "protocol/tool_schema.h"

#include <algorithm>

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

constexpr size_t kMaxNameBytes = 128;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// Length in characters, as the message counts.
size_t num_characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Status check_tool_name(const std::string& name, size_t index) {
  return check_tool_name(name, "tools[" + std::to_string(index) + "].function.name");
}

Status check_tool_name(const std::string& name, const std::string& member) {
  const std::string where = "Invalid '" + member + "': ";
  std::string problem;
  if (name.empty()) {
    problem =
        "empty string. Expected a string with minimum length 1, but got an empty string instead.";
  } else if (const size_t length = num_characters(name); length > kMaxNameBytes) {
    problem =
        "string too long. Expected a string with maximum length 128, but got a string with "
        "length " +
        std::to_string(length) + " instead.";
  } else if (!std::all_of(name.begin(), name.end(), is_name_char)) {
    problem =
        "string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.";
  } else {
    return Status::ok();
  }
  return invalid_argument(where + problem).with_param(member);
}

Status check_tool_schema(const recipe::ToolDeclaration& tool, const std::string& member) {
  const std::string where = "Invalid schema for function '" + tool.name + "': ";
  std::string problem;
  if (auto invalid = json_schema_problem(tool.parameters)) {
    problem = std::move(*invalid);
  } else {
    const Json& schema = tool.parameters;
    const Json type = schema.is_object() && schema.contains("type") ? schema["type"] : Json();
    if (type == "object") {
      return Status::ok();
    }
    problem = "schema must be a JSON Schema of 'type: \"object\"', got 'type: ";
    recipe::append_json(type, recipe::JsonStyle::kCompact, problem);
    problem += "'.";
  }
  return invalid_argument(where + problem).with_param(member);
}

}  // namespace deepinfer::protocol
