// Items of `input`: a table of members per kind.

#include <utility>

#include "protocol/responses/responses_readers.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {

using enum Presence;

// ------------------------------------------------------------------------- content parts

namespace {

Status read_part_type(const Json& value, const ReadContext& context, InputPart& target) {
  using Kind = InputPart::Kind;
  return read_enum<Kind>(value, context,
                         {{"input_text", Kind::kText},
                          {"output_text", Kind::kText},
                          {"input_image", Kind::kImage},
                          {"input_file", Kind::kFile}},
                         target.kind);
}

Status read_detail(const Json& value, const ReadContext& context, InputPart& target) {
  return read_enum<std::string>(
      value, context,
      {{"low", "low"}, {"high", "high"}, {"original", "original"}, {"auto", "auto"}},
      target.detail);
}

constexpr Field<InputPart> kPartType[] = {{"type", read_part_type, kRequired}};
constexpr Field<InputPart> kTextPart[] = {field<&InputPart::text>("text", kRequired)};
constexpr Field<InputPart> kImagePart[] = {
    field<&InputPart::image_url>("image_url"),
    field<&InputPart::file_id>("file_id"),
    {"detail", read_detail},
};

}  // namespace

static Status read_value(const Json& value, const ReadContext& context, InputPart& target) {
  DI_TRY(read_members(value, context, kPartType, target));
  switch (target.kind) {
    case InputPart::Kind::kText:
      return read_members(value, context, kTextPart, target);
    case InputPart::Kind::kImage:
      return read_members(value, context, kImagePart, target);
    case InputPart::Kind::kFile:
      return Status::ok();
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- members

namespace {

Status read_content(const Json& value, const ReadContext& context, InputItem& target) {
  if (value.is_string()) {
    target.content.push_back({.text = value.get_ref<const std::string&>()});
    return Status::ok();
  }
  if (!value.is_array()) {
    return wrong_type(context, "a string or a list of parts", value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_value(value[i], context.item(i), target.content.emplace_back()));
  }
  return Status::ok();
}

/// As content, but what a tool gave is no output of the model.
Status read_output(const Json& value, const ReadContext& context, InputItem& target) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i].is_object() && value[i].contains("type") && value[i]["type"] == "output_text") {
        return wrong_spelling(context.item(i).member("type"),
                              {"input_text", "input_image", "input_file"}, value[i]["type"]);
      }
    }
  }
  return read_content(value, context, target);
}

Status read_role(const Json& value, const ReadContext& context, InputItem& target) {
  return read_enum<InputRole>(value, context,
                              {{"user", InputRole::kUser},
                               {"assistant", InputRole::kAssistant},
                               {"system", InputRole::kSystem},
                               {"developer", InputRole::kDeveloper}},
                              target.role);
}

Status read_reasoning_text(const Json& value, const ReadContext& context, std::string& target) {
  static constexpr Field<std::string> kFields[] = {
      {"text",
       [](const Json& v, const ReadContext& c, std::string& t) { return read_value(v, c, t); },
       kRequired},
  };
  return read_members(value, context, kFields, target);
}

Status read_reasoning(const Json& value, const ReadContext& context, InputItem& target) {
  if (!value.is_array()) {
    return wrong_type(context, "a list", value);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_reasoning_text(value[i], context.item(i), target.reasoning.emplace_back()));
  }
  return Status::ok();
}

Status read_unused_text(const Json& value, const ReadContext& context, InputItem&) {
  std::string unused;
  return read_value(value, context, unused);
}

Status read_unused_execution(const Json& value, const ReadContext& context, InputItem&) {
  bool unused = false;
  return read_enum<bool>(value, context, {{"client", true}, {"server", true}}, unused);
}

Status read_arguments_object(const Json& value, const ReadContext& context, InputItem& target) {
  if (!value.is_object()) {
    return wrong_type(context, "an object", value);
  }
  recipe::append_json(value, recipe::JsonStyle::kCompact, target.arguments);
  return Status::ok();
}

/// The input of a custom call is its only argument.
Status read_custom_input(const Json& value, const ReadContext& context, InputItem& target) {
  std::string input;
  DI_TRY(read_value(value, context, input));
  target.arguments = R"({"input": )";
  recipe::append_json_string(input, target.arguments);
  target.arguments += '}';
  return Status::ok();
}

using ItemField = Field<InputItem>;
constexpr ItemField kType[] = {field<&InputItem::type>("type", kRequired)};
constexpr ItemField kMessage[] = {
    {"role", read_role, kRequired},
    {"content", read_content, kRequired},
};
constexpr ItemField kReasoning[] = {
    {"content", read_reasoning},
    {"encrypted_content", read_unused_text},
};
constexpr ItemField kFunctionCall[] = {
    field<&InputItem::call_id>("call_id", kRequired),
    field<&InputItem::name>("name", kRequired),
    field<&InputItem::space>("namespace"),
    field<&InputItem::arguments>("arguments", kRequired),
};
constexpr ItemField kFunctionOutput[] = {
    field<&InputItem::call_id>("call_id"),
    {"output", read_output, kRequired},
};
constexpr ItemField kCustomCall[] = {
    field<&InputItem::call_id>("call_id", kRequired),
    field<&InputItem::name>("name", kRequired),
    {"input", read_custom_input, kRequired},
};
constexpr ItemField kCustomOutput[] = {
    field<&InputItem::call_id>("call_id", kRequired),
    {"output", read_output},
};
constexpr ItemField kSearchCall[] = {
    field<&InputItem::call_id>("call_id", kRequired),
    {"execution", read_unused_execution},
    {"arguments", read_arguments_object, kRequired},
};
constexpr ItemField kSearchOutput[] = {
    field<&InputItem::call_id>("call_id", kRequired),
    {"execution", read_unused_execution},
    field<&InputItem::tools>("tools", kRequired),
};

template <const auto& Fields>
Status read_with(const Json& value, const ReadContext& context, InputItem& target) {
  return read_members(value, context, Fields, target);
}

Status read_nothing(const Json&, const ReadContext&, InputItem&) {
  return Status::ok();
}

struct KindRow {
  std::string_view type;
  InputItem::Kind kind;
  Status (*read)(const Json& value, const ReadContext& context, InputItem& target);
};
constexpr KindRow kKinds[] = {
    {"message", InputItem::Kind::kMessage, read_with<kMessage>},
    {"reasoning", InputItem::Kind::kReasoning, read_with<kReasoning>},
    {"function_call", InputItem::Kind::kFunctionCall, read_with<kFunctionCall>},
    {"function_call_output", InputItem::Kind::kOutput, read_with<kFunctionOutput>},
    {"custom_tool_call", InputItem::Kind::kCustomCall, read_with<kCustomCall>},
    {"custom_tool_call_output", InputItem::Kind::kOutput, read_with<kCustomOutput>},
    {"tool_search_call", InputItem::Kind::kSearchCall, read_with<kSearchCall>},
    {"tool_search_output", InputItem::Kind::kSearchOutput, read_with<kSearchOutput>},
    {"web_search_call", InputItem::Kind::kWebSearchCall, read_nothing},
};

}  // namespace

/// An item without a type is a message.
Status read_value(const Json& value, const ReadContext& context, InputItem& target) {
  target.type = "message";
  if (!value.is_object() || value.contains("type") || !value.contains("role")) {
    DI_TRY(read_members(value, context, kType, target));
  }
  for (const KindRow& row : kKinds) {
    if (row.type == target.type) {
      target.kind = row.kind;
      return row.read(value, context, target);
    }
  }
  return Status::ok();
}

}  // namespace deepinfer::protocol
