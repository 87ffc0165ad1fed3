#include "protocol/messages/messages_request.h"

#include <utility>

#include "protocol/field_reader.h"
#include "protocol/messages/messages_blocks.h"

namespace deepinfer::protocol {
namespace {

using enum Presence;
using RequestField = Field<MessagesRequest>;

Status read_messages(const Json& value, const ReadContext& context, MessagesRequest& target) {
  return protocol::read_value<MessagesMessage>(value, context, target.messages);
}

Status read_system(const Json& value, const ReadContext& context, MessagesRequest& target) {
  std::vector<MessagesBlock> blocks;
  DI_TRY(read_system_blocks(value, context, blocks));
  auto& texts = target.system.emplace();
  for (MessagesBlock& block : blocks) {
    texts.push_back(std::move(block.text));
  }
  target.system_is_list = value.is_array();
  return Status::ok();
}

struct UserId {
  std::optional<std::string> user_id;
};

Status read_metadata(const Json& value, const ReadContext& context, MessagesRequest&) {
  static constexpr Field<UserId> kFields[] = {field<&UserId::user_id>("user_id")};
  UserId ignored;
  return read_members(value, context, kFields, ignored);
}

// ------------------------------------------------------------------------- output_config

Status read_format_type(const Json& value, const ReadContext& context, RequestFormat& target) {
  return read_enum<recipe::ResponseFormat>(
      value, context, {{"json_schema", recipe::ResponseFormat::kJsonSchema}}, target.kind);
}

Status read_format(const Json& value, const ReadContext& context, MessagesRequest& target) {
  static constexpr Field<RequestFormat> kFields[] = {
      {"type", read_format_type, kRequired},
      field<&RequestFormat::schema>("schema", kRequired),
  };
  return read_members(value, context, kFields, target.format.emplace());
}

constexpr auto kExtension = &RecipePolicy::messages_extensions;

Status read_output_config(const Json& value, const ReadContext& context, MessagesRequest& target) {
  static constexpr RequestField kFields[] = {
      field<&MessagesRequest::effort>("effort"),
      {"format", read_format, kOptional, kExtension},
  };
  return read_members(value, context, kFields, target);
}

// ------------------------------------------------------------------------- tools

/// A tool with a type is one that the provider would run; `custom` is the client's own.
Status read_tool(const Json& value, const ReadContext& context, MessagesTool& target) {
  static constexpr Field<RequestTool> kServerTool[] = {field<&RequestTool::name>("name")};
  static constexpr Field<RequestTool> kClientTool[] = {
      field<&RequestTool::name>("name", kRequired),
      field<&RequestTool::description>("description"),
      field<&RequestTool::parameters>("input_schema"),
      field<&RequestTool::defer_loading>("defer_loading"),
      field<&RequestTool::strict>("strict", kOptional, kExtension),
  };
  // Even null makes a server tool of it, under the reference's policy.
  const bool tolerant = context.policy.custom_tool_type;
  const auto type = value.is_object() ? value.find("type") : value.end();
  if (type != value.end() && !(tolerant && (type->is_null() || *type == "custom"))) {
    DI_TRY(protocol::read_value(*type, context.member("type"), target.type));
  }
  return target.type ? read_members(value, context, kServerTool, target.tool)
                     : read_members(value, context, kClientTool, target.tool);
}

Status read_tools(const Json& value, const ReadContext& context, MessagesRequest& target) {
  if (!value.is_array()) {
    return wrong_type(context, "a list", value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_tool(value[i], context.item(i), target.tools.emplace_back()));
  }
  return Status::ok();
}

Status read_choice_type(const Json& value, const ReadContext& context, RequestToolChoice& target) {
  using Kind = RequestToolChoice::Kind;
  return read_enum<Kind>(value, context,
                         {{"auto", Kind::kAuto},
                          {"any", Kind::kRequired},
                          {"tool", Kind::kNamed},
                          {"none", Kind::kNone}},
                         target.kind);
}

Status read_tool_choice(const Json& value, const ReadContext& context, MessagesRequest& target) {
  using Kind = RequestToolChoice::Kind;
  static constexpr Field<RequestToolChoice> kType[] = {{"type", read_choice_type, kRequired}};
  static constexpr Field<RequestToolChoice> kName[] = {
      field<&RequestToolChoice::name>("name", kRequired)};
  static constexpr Field<RequestToolChoice> kParallel[] = {
      field<&RequestToolChoice::single_call>("disable_parallel_tool_use")};
  RequestToolChoice& choice = target.tool_choice.emplace();
  DI_TRY(read_members(value, context, kType, choice));
  if (choice.kind == Kind::kNamed) {
    DI_TRY(read_members(value, context, kName, choice));
  }
  return choice.kind == Kind::kNone ? Status::ok()
                                    : read_members(value, context, kParallel, choice);
}

constexpr RequestField kFields[] = {
    field<&MessagesRequest::model>("model", kRequired),
    {"messages", read_messages, kRequired},
    {"system", read_system},
    field<&MessagesRequest::max_tokens>("max_tokens"),
    field<&MessagesRequest::stream>("stream"),
    field<&MessagesRequest::temperature>("temperature"),
    field<&MessagesRequest::top_p>("top_p"),
    field<&MessagesRequest::stop_sequences>("stop_sequences"),
    field<&MessagesRequest::thinking>("thinking"),
    {"output_config", read_output_config},
    {"output_format", read_format, kOptional, kExtension},
    {"metadata", read_metadata},
    {"tools", read_tools},
    {"tool_choice", read_tool_choice},
    field<&MessagesRequest::top_k>("top_k", kOptional, kExtension),
};

}  // namespace

Result<MessagesRequest> parse_messages_request(std::string_view body, const RecipePolicy& policy) {
  DI_ASSIGN(const Json json,
            recipe::read_json(body, {.max_depth = policy.max_json_depth,
                                     .refuse_duplicate_keys = policy.refuse_duplicate_keys}));
  MessagesRequest request;
  DI_TRY(read_members(json, ReadContext{policy, {}}, kFields, request));
  return request;
}

}  // namespace deepinfer::protocol
