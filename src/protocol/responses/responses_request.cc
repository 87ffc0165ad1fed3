#include "protocol/responses/responses_request.h"

#include <algorithm>
#include <utility>

#include "protocol/field_reader.h"
#include "protocol/responses/responses_readers.h"

namespace deepinfer::protocol {
namespace {

using enum Presence;

Status read_input(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  if (value.is_string()) {
    return read_value(value, context, target.input_text);
  }
  if (!value.is_array()) {
    return wrong_type(context, "a string or a list of items", value);
  }
  return protocol::read_value<InputItem>(value, context, target.input_items.emplace());
}

Status read_effort(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  DI_TRY(read_value(value, context, target.effort.emplace()));
  target.effort_spelled = value.get<std::string>();
  return Status::ok();
}

Status read_summary(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  return read_enum<std::string>(
      value, context, {{"auto", "auto"}, {"concise", "concise"}, {"detailed", "detailed"}},
      target.reasoning_summary.emplace());
}

Status read_reasoning(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  static constexpr Field<ResponsesRequest> kFields[] = {
      {"effort", read_effort},
      {"summary", read_summary},
  };
  return read_members(value, context, kFields, target);
}

// ------------------------------------------------------------------------- text

Status read_format_type(const Json& value, const ReadContext& context, ResponsesText& target) {
  using recipe::ResponseFormat;
  return read_enum<ResponseFormat>(value, context,
                                   {{"text", ResponseFormat::kText},
                                    {"json_schema", ResponseFormat::kJsonSchema},
                                    {"json_object", ResponseFormat::kJsonObject}},
                                   target.kind);
}

/// The members beside `type` belong to `json_schema` and are not looked at under another type.
Status read_format(const Json& value, const ReadContext& context, ResponsesText& target) {
  static constexpr Field<ResponsesText> kType[] = {{"type", read_format_type, kRequired}};
  static constexpr Field<ResponsesText> kSchema[] = {
      field<&ResponsesText::name>("name", kRequired),
      field<&ResponsesText::schema>("schema", kRequired),
      field<&ResponsesText::description>("description"),
      field<&ResponsesText::strict>("strict"),
  };
  DI_TRY(read_members(value, context, kType, target));
  return target.kind == recipe::ResponseFormat::kJsonSchema
             ? read_members(value, context, kSchema, target)
             : Status::ok();
}

Status read_verbosity(const Json& value, const ReadContext& context, ResponsesText& target) {
  return read_enum<std::string>(value, context,
                                {{"low", "low"}, {"medium", "medium"}, {"high", "high"}},
                                target.verbosity.emplace());
}

Status read_text(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  static constexpr Field<ResponsesText> kFields[] = {
      {"format", read_format},
      {"verbosity", read_verbosity},
  };
  if (value.is_object() && value.contains("format") && value["format"].is_null()) {
    return wrong_type(context.member("format"), "an object", value["format"]);
  }
  return read_members(value, context, kFields, target.text);
}

// ------------------------------------------------------------------------- tool choice

Status read_choice_type(const Json& value, const ReadContext& context,
                        ResponsesToolChoice& target) {
  return read_enum<std::string>(value, context,
                                {{"function", "function"},
                                 {"web_search", "web_search"},
                                 {"web_search_2025_08_26", "web_search_2025_08_26"},
                                 {"custom", "custom"}},
                                target.type);
}

Status read_tool_choice(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  using Kind = RequestToolChoice::Kind;
  static constexpr Field<ResponsesToolChoice> kType[] = {{"type", read_choice_type, kRequired}};
  static constexpr Field<RequestToolChoice> kNamed[] = {
      field<&RequestToolChoice::name>("name", kRequired),
  };
  ResponsesToolChoice& given = target.tool_choice.emplace();
  if (value.is_string()) {
    return read_enum<Kind>(
        value, context,
        {{"none", Kind::kNone}, {"auto", Kind::kAuto}, {"required", Kind::kRequired}},
        given.choice.kind);
  }
  DI_TRY(read_members(value, context, kType, given));
  if (given.type != "function" && given.type != "custom") {
    return Status::ok();  // a search that nobody here runs is left to the model
  }
  given.choice.kind = Kind::kNamed;
  return read_members(value, context, kNamed, given.choice);
}

// ------------------------------------------------------------------------- the request

Status read_include(const Json& value, const ReadContext& context, ResponsesRequest& target) {
  std::vector<std::string> wanted;
  DI_TRY(read_value(value, context, wanted));
  target.include_logprobs =
      std::find(wanted.begin(), wanted.end(), "message.output_text.logprobs") != wanted.end();
  return Status::ok();
}

constexpr Field<ResponsesRequest> kFields[] = {
    field<&ResponsesRequest::model>("model", kRequired),
    {"input", read_input},
    field<&ResponsesRequest::instructions>("instructions"),
    field<&ResponsesRequest::max_output_tokens>("max_output_tokens"),
    {"reasoning", read_reasoning},
    {"text", read_text},
    field<&ResponsesRequest::temperature>("temperature"),
    field<&ResponsesRequest::top_p>("top_p"),
    field<&ResponsesRequest::top_logprobs>("top_logprobs"),
    field<&ResponsesRequest::tools>("tools"),
    {"tool_choice", read_tool_choice},
    field<&ResponsesRequest::stream>("stream"),
    field<&ResponsesRequest::user>("user"),
    {"include", read_include, kOptional, &RecipePolicy::include_logprobs},
    field<&ResponsesRequest::parallel_tool_calls>("parallel_tool_calls", kOptional,
                                                  &RecipePolicy::parallel_tool_calls),
    field<&ResponsesRequest::thinking_token_budget>("thinking_token_budget", kOptional,
                                                    &RecipePolicy::thinking_budget),
};

/// Members that ask for what a server without memory of earlier responses cannot give: with
/// any value but the harmless one the request is refused.
struct StatefulMember {
  std::string_view name;
  /// JSON text of a value that asks for nothing.
  std::string_view harmless;
  std::string_view advice;
};
constexpr StatefulMember kStateful[] = {
    {"background", "false", "wait for the response or stream it"},
    {"conversation", "null", "send the earlier items in `input`"},
    {"previous_response_id", "null", "send the earlier items in `input`"},
    {"prompt", "null", "send the text itself"},
};

Status refuse_stateful(const Json& body) {
  for (const StatefulMember& row : kStateful) {
    const auto at = body.find(row.name);
    if (at == body.end() || at->is_null() || *at == Json::parse(row.harmless)) {
      continue;
    }
    const std::string name(row.name);
    std::string message = "`" + name + "` is not supported: this server stores no responses; ";
    message += row.advice;
    return invalid_argument(std::move(message))
        .with_param(name)
        .with_reason("unsupported_parameter");
  }
  return Status::ok();
}

}  // namespace

Result<ResponsesRequest> parse_responses_request(std::string_view body,
                                                 const RecipePolicy& policy) {
  DI_ASSIGN(const Json json,
            recipe::read_json(body, {.max_depth = policy.max_json_depth,
                                     .refuse_duplicate_keys = policy.refuse_duplicate_keys}));
  ResponsesRequest request;
  DI_TRY(read_members(json, ReadContext{policy, {}}, kFields, request));
  if (policy.refuse_stateful) {
    DI_TRY(refuse_stateful(json));
  }
  return request;
}

}  // namespace deepinfer::protocol
