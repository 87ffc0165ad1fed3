#include "protocol/guided_output.h"

#include <string>
#include <utility>

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using Kind = ConstraintSpec::Kind;

Status set(ConstraintSpec spec, const ReadContext& context, ChatRequest& request) {
  if (request.guided) {
    return invalid_argument("`" + context.path + "` cannot be combined with `" +
                            request.guided->param + "`")
        .with_param(context.path);
  }
  spec.param = context.path;
  request.guided = std::move(spec);
  return Status::ok();
}

Status set_text(Kind kind, const Json& value, const ReadContext& context, ChatRequest& request) {
  ConstraintSpec spec{.kind = kind};
  DI_TRY(read_value(value, context, spec.text));
  return set(std::move(spec), context, request);
}

Status read_json_object(const Json& value, const ReadContext& context, ChatRequest& request) {
  bool wanted = false;
  DI_TRY(read_value(value, context, wanted));
  return wanted ? set({.kind = Kind::kJsonObject}, context, request) : Status::ok();
}

}  // namespace

/// A schema, or its text.
Status read_guided_json(const Json& value, const ReadContext& context, ChatRequest& request) {
  if (value.is_string()) {
    return set_text(Kind::kJsonSchema, value, context, request);
  }
  if (!value.is_object() && !value.is_boolean()) {
    return wrong_type(context, "a JSON Schema or its text", value);
  }
  ConstraintSpec spec{.kind = Kind::kJsonSchema};
  recipe::append_json(value, recipe::JsonStyle::kCompact, spec.text);
  return set(std::move(spec), context, request);
}

Status read_guided_regex(const Json& value, const ReadContext& context, ChatRequest& request) {
  return set_text(Kind::kRegex, value, context, request);
}

Status read_guided_grammar(const Json& value, const ReadContext& context, ChatRequest& request) {
  return set_text(Kind::kGrammar, value, context, request);
}

Status read_guided_choice(const Json& value, const ReadContext& context, ChatRequest& request) {
  ConstraintSpec spec{.kind = Kind::kChoice};
  DI_TRY(read_value(value, context, spec.choices));
  return set(std::move(spec), context, request);
}

Status read_structured_outputs(const Json& value, const ReadContext& context,
                               ChatRequest& request) {
  static constexpr Field<ChatRequest> kFields[] = {
      {"json", read_guided_json},        {"regex", read_guided_regex},
      {"grammar", read_guided_grammar},  {"choice", read_guided_choice},
      {"json_object", read_json_object},
  };
  static constexpr UnsupportedMember kUnsupported[] = {
      {"structural_tag", "null"},
      {"whitespace_pattern", "null"},
  };
  DI_TRY(read_members(value, context, kFields, request));
  return refuse_unsupported(value, kUnsupported);
}

}  // namespace deepinfer::protocol
