// Strict schemas: read into a subset by a table of members per kind of node, then written out
// with members in the order of the table (recipe spec §4).

#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

enum class Kind {
  kString,
  kStrings,
  kFormat,
  kNumber,
  kInt64,
  kBoolean,
  kNode,
  kNodes,
  kNodeMap,
};

struct Member {
  std::string_view name;
  Kind kind;
};

constexpr Member kObject[] = {
    {"properties", Kind::kNodeMap}, {"additionalProperties", Kind::kBoolean},
    {"required", Kind::kStrings},   {"description", Kind::kString},
    {"$def", Kind::kNodeMap},
};
constexpr Member kText[] = {
    {"description", Kind::kString},
    {"pattern", Kind::kString},
    {"format", Kind::kFormat},
    {"enum", Kind::kStrings},
};
constexpr Member kNumber[] = {
    {"description", Kind::kString},      {"const", Kind::kNumber},
    {"default", Kind::kNumber},          {"minimum", Kind::kNumber},
    {"maximum", Kind::kNumber},          {"exclusiveMinimum", Kind::kNumber},
    {"exclusiveMaximum", Kind::kNumber}, {"multipleOf", Kind::kNumber},
};
constexpr Member kInteger[] = {
    {"description", Kind::kString},     {"const", Kind::kInt64},
    {"default", Kind::kInt64},          {"minimum", Kind::kInt64},
    {"maximum", Kind::kInt64},          {"exclusiveMinimum", Kind::kInt64},
    {"exclusiveMaximum", Kind::kInt64}, {"multipleOf", Kind::kInt64},
};
constexpr Member kPlain[] = {{"description", Kind::kString}};
constexpr Member kArray[] = {{"items", Kind::kNode}, {"description", Kind::kString}};
constexpr Member kAnyOf[] = {{"anyOf", Kind::kNodes}, {"description", Kind::kString}};
constexpr Member kRef[] = {{"$ref", Kind::kString}};

struct TypeRow {
  std::string_view name;
  std::span<const Member> members;
  bool in_lists;
};
constexpr TypeRow kTypes[] = {
    {"object", kObject, false},  {"string", kText, true},   {"number", kNumber, true},
    {"integer", kInteger, true}, {"boolean", kPlain, true}, {"array", kArray, false},
    {"null", kPlain, true},
};
constexpr std::string_view kFormats[] = {"email", "hostname", "ipv4", "ipv6", "uuid"};

using Problem = std::optional<std::string>;

Problem expected(std::string_view what, const Json& value) {
  return "invalid value " + value.dump(-1, ' ', false, Json::error_handler_t::replace) +
         ", expected " + std::string(what);
}

const TypeRow* find_type(const Json& name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) {
      return &row;
    }
  }
  return nullptr;
}

/// The members a node is read by, or why it cannot be read.
Problem members_of(const Json& node, std::span<const Member>& members) {
  if (node.is_object() && node.contains("type")) {
    const Json& type = node["type"];
    if (type.is_array()) {
      members = kPlain;
      for (const Json& item : type) {
        const TypeRow* row = find_type(item);
        if (row == nullptr || !row->in_lists) {
          return expected("one of string, number, integer, boolean, null", item);
        }
      }
      return std::nullopt;
    }
    const TypeRow* row = find_type(type);
    if (row == nullptr) {
      return expected("one of object, string, number, integer, boolean, array, null", type);
    }
    members = row->members;
    return std::nullopt;
  }
  if (node.is_object() && node.contains("anyOf")) {
    members = kAnyOf;
    return std::nullopt;
  }
  if (node.is_object() && node.contains("$ref")) {
    members = kRef;
    return std::nullopt;
  }
  return std::string("one of `type`, `anyOf`, `$ref` field is required");
}

Problem check_node(const Json& node);

Problem check_strings(const Json& value) {
  if (!value.is_array()) {
    return expected("a sequence", value);
  }
  for (const Json& item : value) {
    if (!item.is_string()) {
      return expected("a string", item);
    }
  }
  return std::nullopt;
}

template <typename Values>
Problem check_nodes(const Values& values) {
  for (const Json& item : values) {
    if (Problem problem = check_node(item)) {
      return problem;
    }
  }
  return std::nullopt;
}

bool is_int64(const Json& value) {
  return value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX
                                    : value.is_number_integer();
}

bool is_format(const Json& value) {
  for (const std::string_view format : kFormats) {
    if (value == format) {
      return true;
    }
  }
  return false;
}

Problem check_member(Kind kind, const Json& value) {
  switch (kind) {
    case Kind::kString:
      return value.is_string() ? std::nullopt : expected("a string", value);
    case Kind::kStrings:
      return check_strings(value);
    case Kind::kFormat:
      return is_format(value) ? std::nullopt
                              : expected("one of email, hostname, ipv4, ipv6, uuid", value);
    case Kind::kNumber:
      return value.is_number() ? std::nullopt : expected("a JSON number", value);
    case Kind::kInt64:
      return is_int64(value) ? std::nullopt : expected("i64", value);
    case Kind::kBoolean:
      return value.is_boolean() ? std::nullopt : expected("a boolean", value);
    case Kind::kNode:
      return check_node(value);
    case Kind::kNodes:
      return value.is_array() ? check_nodes(value) : expected("a sequence", value);
    case Kind::kNodeMap:
      return value.is_object() ? check_nodes(value) : expected("a map", value);
  }
  return std::nullopt;
}

/// A member's value; null counts as absent, save where a value is required.
const Json* given(const Json& node, const Member& member) {
  const auto at = node.find(member.name);
  const bool required =
      member.kind == Kind::kNode || member.kind == Kind::kNodes || member.name == "$ref";
  return at == node.end() || (at->is_null() && !required) ? nullptr : &*at;
}

Problem check_node(const Json& node) {
  std::span<const Member> members;
  if (Problem problem = members_of(node, members)) {
    return problem;
  }
  for (const Member& member : members) {
    const Json* value = given(node, member);
    if (value == nullptr) {
      if (member.kind == Kind::kNode) {
        return "missing field `" + std::string(member.name) + "`";
      }
      continue;
    }
    if (Problem problem = check_member(member.kind, *value)) {
      return problem;
    }
  }
  return std::nullopt;
}

Result<Json> rewrite(const Json& node, bool may_be_empty);

template <typename Add>
Status rewrite_each(const Json& nodes, const Add& add) {
  for (const auto& [key, value] : nodes.items()) {
    DI_ASSIGN(Json rewritten, rewrite(value, false));
    add(key, std::move(rewritten));
  }
  return Status::ok();
}

Status check_required(const Json& node, const Json& properties) {
  const Json* required = given(node, {"required", Kind::kStrings});
  if (required == nullptr) {
    return Status::ok();
  }
  std::set<std::string_view> names;
  for (const Json& item : *required) {
    const auto& name = item.get_ref<const std::string&>();
    if (!properties.contains(name)) {
      return invalid_argument("Required property '" + name + "' not found in object");
    }
    if (!names.insert(name).second) {
      return invalid_argument("Duplicate required property '" + name + "'");
    }
  }
  if (names.size() != properties.size()) {
    return invalid_argument("Required properties must match all properties in the object");
  }
  return Status::ok();
}

Result<Json> rewrite_object(const Json& node, bool may_be_empty) {
  Json properties = Json::object();
  const Json* given_properties = given(node, {"properties", Kind::kNodeMap});
  if (!may_be_empty && (given_properties == nullptr || given_properties->empty())) {
    return invalid_argument("An object with no properties is not allowed.");
  }
  if (given_properties != nullptr) {
    DI_TRY(rewrite_each(*given_properties, [&](const std::string& name, Json value) {
      properties[name] = std::move(value);
    }));
  }
  DI_TRY(check_required(node, properties));
  const Json* additional = given(node, {"additionalProperties", Kind::kBoolean});
  if (additional != nullptr && additional->get<bool>()) {
    return invalid_argument("additionalProperties should not be true");
  }
  Json required = Json::array();
  for (const auto& [name, value] : properties.items()) {
    required.push_back(name);
  }
  Json result = {{"type", "object"}};
  result["properties"] = std::move(properties);
  result["additionalProperties"] = false;
  result["required"] = std::move(required);
  if (const Json* description = given(node, {"description", Kind::kString})) {
    result["description"] = *description;
  }
  if (const Json* definitions = given(node, {"$def", Kind::kNodeMap})) {
    Json& target = result["$def"] = Json::object();
    DI_TRY(rewrite_each(*definitions, [&](const std::string& name, Json value) {
      target[name] = std::move(value);
    }));
  }
  return result;
}

/// `node` has passed check_node.
Result<Json> rewrite(const Json& node, bool may_be_empty) {
  if (node.contains("type") && node["type"] == "object") {
    return rewrite_object(node, may_be_empty);
  }
  std::span<const Member> members;
  members_of(node, members);
  Json result = Json::object();
  if (node.contains("type")) {
    result["type"] = node["type"];
  }
  for (const Member& member : members) {
    const Json* value = given(node, member);
    if (value == nullptr) {
      continue;
    }
    Json& target = result[std::string(member.name)];
    if (member.kind == Kind::kNode) {
      DI_ASSIGN(target, rewrite(*value, false));
    } else if (member.kind == Kind::kNodes) {
      target = Json::array();
      DI_TRY(rewrite_each(
          *value, [&](const std::string&, Json item) { target.push_back(std::move(item)); }));
    } else {
      target = *value;
    }
  }
  return result;
}

}  // namespace

Result<Json> strict_schema(const Json& schema, StrictSchemaUse use) {
  const bool tool = use == StrictSchemaUse::kToolParameters;
  if (const Problem problem = check_node(schema)) {
    return invalid_argument((tool ? "Invalid tool parameters schema : " : "Invalid json schema: ") +
                            *problem);
  }
  if (!schema.contains("type") || schema["type"] != "object") {
    return invalid_argument(
        tool ? "The top level of the function parameters schema must be an object."
             : "The top level of the json schema must be an object.");
  }
  return rewrite(schema, tool);
}

}  // namespace deepinfer::protocol
