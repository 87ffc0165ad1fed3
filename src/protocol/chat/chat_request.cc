#include "protocol/chat/chat_request.h"

#include <utility>

#include "protocol/chat/chat_request_readers.h"
#include "protocol/field_reader.h"
#include "protocol/guided_output.h"

namespace deepinfer::protocol {
namespace {

using enum Presence;

}  // namespace

Status read_value(const Json& value, const ReadContext& context, RequestStop& stop) {
  if (value.is_string()) {
    return read_value(value, context, stop.sequences.emplace_back());
  }
  stop.is_list = true;
  if (!value.is_array()) {
    return wrong_type(context, "a string or a list of strings", value);
  }
  return read_value(value, context, stop.sequences);
}

Status read_value(const Json& value, const ReadContext& context, StreamOptions& target) {
  static constexpr Field<StreamOptions> kFields[] = {
      field<&StreamOptions::include_usage>("include_usage"),
      field<&StreamOptions::continuous_usage_stats>("continuous_usage_stats", kOptional,
                                                    &RecipePolicy::continuous_usage),
  };
  return read_members(value, context, kFields, target);
}

Status read_value(const Json& value, const ReadContext& context, TemplateArguments& target) {
  static constexpr Field<TemplateArguments> kFields[] = {
      field<&TemplateArguments::thinking>("thinking"),
      field<&TemplateArguments::enable_thinking>("enable_thinking"),
      field<&TemplateArguments::reasoning_effort>("reasoning_effort"),
  };
  return read_members(value, context, kFields, target);
}

// ------------------------------------------------------------------------- tools

Status read_value(const Json& value, const ReadContext& context, RequestTool& target) {
  static constexpr Field<RequestTool> kFunction[] = {
      field<&RequestTool::name>("name", kRequired),
      field<&RequestTool::description>("description"),
      field<&RequestTool::parameters>("parameters"),
      field<&RequestTool::strict>("strict"),
  };
  static constexpr Field<RequestTool> kFields[] = {
      {"type", read_function_type<RequestTool>, kRequired},
      {"function",
       [](const Json& v, const ReadContext& c, RequestTool& t) {
         return read_members(v, c, kFunction, t);
       },
       kRequired},
  };
  return read_members(value, context, kFields, target);
}

namespace {

Status read_tools(const Json& value, const ReadContext& context, ChatRequest& target) {
  return protocol::read_value<RequestTool>(value, context, target.tools);
}

Status read_tool_choice(const Json& value, const ReadContext& context, ChatRequest& target) {
  using Kind = RequestToolChoice::Kind;
  RequestToolChoice& choice = target.tool_choice.emplace();
  if (value.is_string()) {
    return read_enum<Kind>(
        value, context,
        {{"auto", Kind::kAuto}, {"none", Kind::kNone}, {"required", Kind::kRequired}}, choice.kind);
  }
  static constexpr Field<RequestToolChoice> kFunction[] = {
      field<&RequestToolChoice::name>("name", kRequired),
  };
  static constexpr Field<RequestToolChoice> kFields[] = {
      {"type", read_function_type<RequestToolChoice>, kRequired},
      {"function",
       [](const Json& v, const ReadContext& c, RequestToolChoice& t) {
         return read_members(v, c, kFunction, t);
       },
       kRequired},
  };
  choice.kind = Kind::kNamed;
  return read_members(value, context, kFields, choice);
}

// ------------------------------------------------------------------------- response format

struct JsonSchemaMember {
  Json schema;
  std::optional<std::string> name;
  std::optional<bool> strict;
};

struct FormatMembers {
  recipe::ResponseFormat type = recipe::ResponseFormat::kText;
  std::optional<JsonSchemaMember> json_schema;
  std::optional<std::string> regex;
};

Status read_format_type(const Json& value, const ReadContext& context, FormatMembers& target) {
  using recipe::ResponseFormat;
  return read_enum<ResponseFormat>(value, context,
                                   {{"text", ResponseFormat::kText},
                                    {"json_object", ResponseFormat::kJsonObject},
                                    {"json_schema", ResponseFormat::kJsonSchema},
                                    {"regex", ResponseFormat::kRegex}},
                                   target.type);
}

Status read_json_schema(const Json& value, const ReadContext& context, FormatMembers& target) {
  static constexpr Field<JsonSchemaMember> kFields[] = {
      field<&JsonSchemaMember::schema>("schema", kRequired),
      field<&JsonSchemaMember::name>("name"),
      field<&JsonSchemaMember::strict>("strict"),
  };
  return read_members(value, context, kFields, target.json_schema.emplace());
}

/// The members beside `type` belong to one type each and are not looked at under another.
Status read_response_format(const Json& value, const ReadContext& context, ChatRequest& target) {
  using recipe::ResponseFormat;
  static constexpr Field<FormatMembers> kType[] = {{"type", read_format_type, kRequired}};
  static constexpr Field<FormatMembers> kSchema[] = {{"json_schema", read_json_schema, kRequired}};
  static constexpr Field<FormatMembers> kRegex[] = {
      {"regex",
       [](const Json& v, const ReadContext& c, FormatMembers& t) {
         return protocol::read_value(v, c, t.regex);
       },
       kRequired}};
  FormatMembers members;
  DI_TRY(read_members(value, context, kType, members));
  RequestFormat& format = target.response_format.emplace();
  format.kind = members.type;
  if (members.type == ResponseFormat::kJsonSchema) {
    DI_TRY(read_members(value, context, kSchema, members));
    format.schema = std::move(members.json_schema->schema);
    format.strict = members.json_schema->strict.value_or(false);
  } else if (members.type == ResponseFormat::kRegex) {
    DI_TRY(read_members(value, context, kRegex, members));
    format.regex = std::move(*members.regex);
  }
  return Status::ok();
}

Status read_messages(const Json& value, const ReadContext& context, ChatRequest& target) {
  return protocol::read_value<RequestMessage>(value, context, target.messages);
}

/// Ignoring them would change what the client gets.
constexpr UnsupportedMember kUnsupported[] = {
    {"allowed_token_ids", "null"},
    {"bad_words", "[]"},
    {"best_of", "1"},
    {"chat_template", "null"},
    {"continue_final_message", "false"},
    {"ebnf", "null"},
    {"echo", "false"},
    {"function_call", "null"},
    {"functions", "null"},
    {"grammar", "null"},
    {"guided_whitespace_pattern", "null"},
    {"include_stop_str_in_output", "false"},
    {"json_schema", "null"},
    {"length_penalty", "1.0"},
    {"logits_processors", "null"},
    {"modalities", R"(["text"])"},
    {"prompt_logprobs", "null"},
    {"regex", "null"},
    {"repetition_penalty", "1.0"},
    {"structural_tag", "null"},
    {"use_beam_search", "false"},
    {"web_search_options", "null"},
};

constexpr auto kExtension = &RecipePolicy::sampling_extensions;

constexpr Field<ChatRequest> kChatFields[] = {
    field<&ChatRequest::model>("model", kRequired),
    {"messages", read_messages, kRequired},
    field<&ChatRequest::stream>("stream"),
    field<&ChatRequest::stream_options>("stream_options"),
    field<&ChatRequest::temperature>("temperature"),
    field<&ChatRequest::top_p>("top_p"),
    field<&ChatRequest::max_tokens>("max_tokens"),
    field<&ChatRequest::max_completion_tokens>("max_completion_tokens", kOptional,
                                               &RecipePolicy::max_completion_tokens),
    field<&ChatRequest::n>("n"),
    field<&ChatRequest::seed>("seed"),
    field<&ChatRequest::stop>("stop"),
    field<&ChatRequest::logprobs>("logprobs"),
    field<&ChatRequest::top_logprobs>("top_logprobs"),
    field<&ChatRequest::presence_penalty>("presence_penalty"),
    field<&ChatRequest::frequency_penalty>("frequency_penalty"),
    field<&ChatRequest::thinking>("thinking"),
    field<&ChatRequest::reasoning_effort>("reasoning_effort"),
    field<&ChatRequest::template_arguments>("chat_template_kwargs", kOptional,
                                            &RecipePolicy::template_arguments),
    {"response_format", read_response_format},
    {"tools", read_tools},
    {"tool_choice", read_tool_choice},
    field<&ChatRequest::parallel_tool_calls>("parallel_tool_calls"),
    field<&ChatRequest::thinking_token_budget>("thinking_token_budget", kOptional,
                                               &RecipePolicy::thinking_budget),
    field<&ChatRequest::top_k>("top_k", kOptional, kExtension),
    field<&ChatRequest::min_p>("min_p", kOptional, kExtension),
    field<&ChatRequest::min_tokens>("min_tokens", kOptional, kExtension),
    field<&ChatRequest::stop_token_ids>("stop_token_ids", kOptional, kExtension),
    field<&ChatRequest::ignore_eos>("ignore_eos", kOptional, kExtension),
    field<&ChatRequest::priority>("priority", kOptional, kExtension),
    field<&ChatRequest::logit_bias>("logit_bias", kOptional, kExtension),
    guided_field<ChatRequest, read_guided_json>("guided_json"),
    guided_field<ChatRequest, read_guided_regex>("guided_regex"),
    guided_field<ChatRequest, read_guided_grammar>("guided_grammar"),
    guided_field<ChatRequest, read_guided_choice>("guided_choice"),
    guided_field<ChatRequest, read_structured_outputs>("structured_outputs"),
};

}  // namespace

Result<ChatRequest> parse_chat_request(std::string_view body, const RecipePolicy& policy) {
  DI_ASSIGN(const Json json,
            recipe::read_json(body, {.max_depth = policy.max_json_depth,
                                     .refuse_duplicate_keys = policy.refuse_duplicate_keys}));
  return read_chat_request(json, policy);
}

Result<ChatRequest> read_chat_request(const Json& json, const RecipePolicy& policy) {
  ChatRequest request;
  DI_TRY(read_members(json, ReadContext{policy, {}}, kChatFields, request));
  if (policy.refuse_unenforced) {
    DI_TRY(refuse_unsupported(json, kUnsupported));
  }
  return request;
}

}  // namespace deepinfer::protocol
