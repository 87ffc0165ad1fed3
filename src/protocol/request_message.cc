// Messages of a chat request: a table of members per role.

#include <utility>

#include "protocol/chat/chat_request_readers.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {

using enum Presence;
using recipe::Role;
using recipe::ToolCall;

// ------------------------------------------------------------------------- content parts

namespace {

Status read_image_url(const Json& value, const ReadContext& context, ContentPart& target) {
  static constexpr Field<ContentPart> kFields[] = {
      field<&ContentPart::url>("url", kRequired),
      {"detail",
       [](const Json& v, const ReadContext& c, ContentPart& t) {
         return read_enum<std::string>(
             v, c, {{"low", "low"}, {"high", "high"}, {"original", "original"}, {"auto", "auto"}},
             t.detail);
       }},
  };
  return read_members(value, context, kFields, target);
}

Status read_part_type(const Json& value, const ReadContext& context, ContentPart& target) {
  using Kind = ContentPart::Kind;
  return read_enum<Kind>(
      value, context,
      {{"text", Kind::kText}, {"image_url", Kind::kImageUrl}, {"file", Kind::kFile}}, target.kind);
}

constexpr Field<ContentPart> kPartType[] = {{"type", read_part_type, kRequired}};
constexpr Field<ContentPart> kTextPart[] = {field<&ContentPart::text>("text", kRequired)};
constexpr Field<ContentPart> kImagePart[] = {{"image_url", read_image_url, kRequired}};
constexpr Field<ContentPart> kFilePart[] = {
    field<&ContentPart::file_data>("file_data"),
    field<&ContentPart::file_id>("file_id"),
    field<&ContentPart::filename>("filename"),
};

}  // namespace

static Status read_value(const Json& value, const ReadContext& context, ContentPart& target) {
  DI_TRY(read_members(value, context, kPartType, target));
  switch (target.kind) {
    case ContentPart::Kind::kText:
      return read_members(value, context, kTextPart, target);
    case ContentPart::Kind::kImageUrl:
      return read_members(value, context, kImagePart, target);
    case ContentPart::Kind::kFile:
      return read_members(value, context, kFilePart, target);
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- tool calls

namespace {

/// As a string; a lenient server also takes the object that the string should hold.
Status read_arguments(const Json& value, const ReadContext& context, ToolCall& target) {
  if (value.is_string() || !context.policy.lenient_tool_calls) {
    return read_value(value, context, target.arguments);
  }
  if (value.is_null()) {
    target.arguments = "{}";
    return Status::ok();
  }
  if (!value.is_object()) {
    return wrong_type(context, "a string holding a JSON object", value);
  }
  recipe::append_json(value, recipe::JsonStyle::kCompact, target.arguments);
  return Status::ok();
}

constexpr Field<ToolCall> kCallFunction[] = {
    field<&ToolCall::name>("name", kRequired),
    {"arguments", read_arguments, kRequired},
};
Status read_call_function(const Json& value, const ReadContext& context, ToolCall& target) {
  return read_members(value, context, kCallFunction, target);
}
constexpr Field<ToolCall> kCallFields[] = {
    field<&ToolCall::id>("id", kRequired),
    {"type", read_function_type<ToolCall>, kRequired},
    {"function", read_call_function, kRequired},
};
constexpr Field<ToolCall> kLenientCallFields[] = {
    field<&ToolCall::id>("id", kRequired),
    {"type", read_function_type<ToolCall>, kOptional},
    {"function", read_call_function, kRequired},
};

Status read_tool_calls(const Json& value, const ReadContext& context, RequestMessage& target) {
  if (!value.is_array()) {
    return wrong_type(context, "a list", value);
  }
  auto& calls = target.tool_calls.emplace();
  for (size_t i = 0; i < value.size(); ++i) {
    const auto& fields = context.policy.lenient_tool_calls ? kLenientCallFields : kCallFields;
    DI_TRY(read_members(value[i], context.item(i), fields, calls.emplace_back()));
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- messages

Status read_content(const Json& value, const ReadContext& context, RequestMessage& target) {
  auto& parts = target.content.emplace();
  if (value.is_string()) {
    parts.push_back({.text = value.get_ref<const std::string&>()});
    return Status::ok();
  }
  if (!value.is_array()) {
    return wrong_type(context, "a string or a list of parts", value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_value(value[i], context.item(i), parts.emplace_back()));
  }
  return Status::ok();
}

Status read_plain_content(const Json& value, const ReadContext& context, RequestMessage& target) {
  return read_value(value, context, target.content.emplace().emplace_back().text);
}

Status read_name(const Json& value, const ReadContext& context, RequestMessage&) {
  std::string ignored;
  return read_value(value, context, ignored);
}

/// `reasoning` counts where `reasoning_content` is not given.
Status read_reasoning_alias(const Json& value, const ReadContext& context, RequestMessage& target) {
  std::optional<std::string> text;
  DI_TRY(read_value(value, context, text));
  if (!target.reasoning_content) {
    target.reasoning_content = std::move(text);
  }
  return Status::ok();
}

Status read_role(const Json& value, const ReadContext& context, RequestMessage& target) {
  if (context.policy.developer_role && value == "developer") {
    target.role = Role::kSystem;
    return Status::ok();
  }
  return read_enum<Role>(value, context,
                         {{"system", Role::kSystem},
                          {"user", Role::kUser},
                          {"assistant", Role::kAssistant},
                          {"tool", Role::kTool},
                          {"latest_reminder", Role::kLatestReminder}},
                         target.role);
}

using MessageField = Field<RequestMessage>;
constexpr MessageField kRole[] = {{"role", read_role, kRequired}};
constexpr MessageField kSystemOrUser[] = {
    {"content", read_content, kRequired},
    {"name", read_name},
};
constexpr MessageField kAssistant[] = {
    {"content", read_content},
    field<&RequestMessage::reasoning_content>("reasoning_content"),
    {"reasoning", read_reasoning_alias, kOptional, &RecipePolicy::reasoning_alias},
    {"tool_calls", read_tool_calls},
    field<&RequestMessage::prefix>("prefix"),
    {"name", read_name},
};
constexpr MessageField kTool[] = {
    {"content", read_content, kRequired},
    field<&RequestMessage::tool_call_id>("tool_call_id", kRequired),
};
constexpr MessageField kReminder[] = {{"content", read_plain_content, kRequired}};

}  // namespace

Status read_value(const Json& value, const ReadContext& context, RequestMessage& target) {
  DI_TRY(read_members(value, context, kRole, target));
  switch (target.role) {
    case Role::kSystem:
    case Role::kUser:
      return read_members(value, context, kSystemOrUser, target);
    case Role::kAssistant:
      return read_members(value, context, kAssistant, target);
    case Role::kTool:
      return read_members(value, context, kTool, target);
    case Role::kLatestReminder:
      return read_members(value, context, kReminder, target);
  }
  return Status::ok();
}

}  // namespace deepinfer::protocol
