#include "protocol/responses/responses_tool.h"

#include <utility>

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using enum Presence;
using Kind = ResponsesTool::Kind;
using ToolField = Field<ResponsesTool>;

// ------------------------------------------------------------------------- reading

Status read_execution(const Json& value, const ReadContext& context, ResponsesTool& target) {
  return read_enum<std::string>(value, context, {{"client", "client"}, {"server", "server"}},
                                target.execution.emplace());
}

Status read_context_size(const Json& value, const ReadContext& context, ResponsesTool& target) {
  return read_enum<std::string>(value, context,
                                {{"low", "low"}, {"medium", "medium"}, {"high", "high"}},
                                target.search_context_size.emplace());
}

Status read_location(const Json& value, const ReadContext& context, ResponsesTool& target) {
  using Location = ResponsesTool::Location;
  static constexpr Field<Location> kFields[] = {
      field<&Location::city>("city"),
      field<&Location::country>("country"),
      field<&Location::region>("region"),
      field<&Location::timezone>("timezone"),
  };
  return read_members(value, context, kFields, target.user_location.emplace());
}

/// Only functions and custom tools stand in a namespace.
Status read_inner_tools(const Json& value, const ReadContext& context, ResponsesTool& target) {
  DI_TRY(protocol::read_value<ResponsesTool>(value, context, target.tools));
  for (size_t i = 0; i < target.tools.size(); ++i) {
    const Kind kind = target.tools[i].kind;
    if (kind != Kind::kFunction && kind != Kind::kCustom) {
      return wrong_spelling(context.item(i).member("type"), {"function", "custom"},
                            value[i]["type"]);
    }
  }
  return Status::ok();
}

/// The reference reads no description of a custom tool, so none is wrong.
Status read_custom_description(const Json& value, const ReadContext&, ResponsesTool& target) {
  if (value.is_string()) {
    target.description = value.get<std::string>();
  }
  return Status::ok();
}

constexpr ToolField kType[] = {field<&ResponsesTool::type>("type", kRequired)};
constexpr ToolField kFunction[] = {
    field<&ResponsesTool::name>("name", kRequired),
    field<&ResponsesTool::description>("description"),
    field<&ResponsesTool::parameters>("parameters"),
    field<&ResponsesTool::strict>("strict"),
};
constexpr ToolField kCustom[] = {
    field<&ResponsesTool::name>("name", kRequired),
    {"description", read_custom_description},
    field<&ResponsesTool::format>("format"),
};
constexpr ToolField kNamespace[] = {
    field<&ResponsesTool::name>("name", kRequired),
    field<&ResponsesTool::description>("description"),
    {"tools", read_inner_tools, kRequired},
};
constexpr ToolField kToolSearch[] = {
    {"execution", read_execution},
    field<&ResponsesTool::description>("description"),
    field<&ResponsesTool::parameters>("parameters"),
};
constexpr ToolField kWebSearch[] = {
    {"search_context_size", read_context_size},
    {"user_location", read_location},
};

struct KindRow {
  std::string_view type;
  Kind kind;
};
/// `web_search_preview` and the like are other tools, which nobody here knows.
constexpr KindRow kKinds[] = {
    {"function", Kind::kFunction},    {"custom", Kind::kCustom},
    {"namespace", Kind::kNamespace},  {"tool_search", Kind::kToolSearch},
    {"web_search", Kind::kWebSearch}, {"web_search_2025_08_26", Kind::kWebSearch},
};

Kind kind_of(std::string_view type) {
  for (const KindRow& row : kKinds) {
    if (row.type == type) {
      return row.kind;
    }
  }
  return Kind::kUnknown;
}

}  // namespace

Status read_value(const Json& value, const ReadContext& context, ResponsesTool& target) {
  DI_TRY(read_members(value, context, kType, target));
  target.kind = kind_of(target.type);
  switch (target.kind) {
    case Kind::kFunction:
      return read_members(value, context, kFunction, target);
    case Kind::kCustom:
      return read_members(value, context, kCustom, target);
    case Kind::kNamespace:
      return read_members(value, context, kNamespace, target);
    case Kind::kToolSearch:
      return read_members(value, context, kToolSearch, target);
    case Kind::kWebSearch:
      return read_members(value, context, kWebSearch, target);
    case Kind::kUnknown:
      return Status::ok();
  }
  return Status::ok();
}

// ------------------------------------------------------------------------- writing

namespace {

Json text_or_null(const std::optional<std::string>& text) {
  return text ? Json(*text) : Json();
}

Json function_json(const ResponsesTool& tool) {
  Json out = {{"type", "function"}, {"name", tool.name}};
  out["description"] = text_or_null(tool.description);
  out["parameters"] = tool.parameters;
  out["strict"] = tool.strict ? Json(*tool.strict) : Json();
  return out;
}

Json location_json(const ResponsesTool::Location& location) {
  return {{"city", text_or_null(location.city)},
          {"country", text_or_null(location.country)},
          {"region", text_or_null(location.region)},
          {"timezone", text_or_null(location.timezone)}};
}

Json tool_json(const ResponsesTool& tool) {
  Json out = {{"type", tool.type}};
  switch (tool.kind) {
    case Kind::kFunction:
      return function_json(tool);
    case Kind::kCustom:
      out["name"] = tool.name;
      break;
    case Kind::kNamespace:
      out["name"] = tool.name;
      out["description"] = text_or_null(tool.description);
      out["tools"] = Json::array();
      for (const ResponsesTool& inner : tool.tools) {
        out["tools"].push_back(tool_json(inner));
      }
      break;
    case Kind::kToolSearch:
      out["execution"] = text_or_null(tool.execution);
      out["description"] = text_or_null(tool.description);
      out["parameters"] = tool.parameters;
      break;
    case Kind::kWebSearch:
      out["search_context_size"] = text_or_null(tool.search_context_size);
      out["user_location"] = tool.user_location ? location_json(*tool.user_location) : Json();
      break;
    case Kind::kUnknown:
      break;
  }
  return out;
}

std::string compact(const Json& value) {
  std::string text;
  recipe::append_json(value, recipe::JsonStyle::kCompact, text);
  return text;
}

}  // namespace

std::string tools_json(const std::vector<ResponsesTool>& tools) {
  Json list = Json::array();
  for (const ResponsesTool& tool : tools) {
    if (tool.kind != Kind::kUnknown) {
      list.push_back(tool_json(tool));
    }
  }
  return compact(list);
}

std::string flat_tools_json(const std::vector<ResponsesTool>& tools) {
  Json list = Json::array();
  for (const ResponsesTool& tool : tools) {
    if (tool.kind == Kind::kNamespace) {
      for (const ResponsesTool& inner : tool.tools) {
        Json& entry = list.emplace_back(tool_json(inner));
        entry["namespace"] = {{"name", tool.name},
                              {"description", tool.description.value_or(std::string())}};
      }
    } else if (tool.kind != Kind::kUnknown) {
      list.push_back(tool_json(tool));
    }
  }
  return compact(list);
}

}  // namespace deepinfer::protocol
