#include "constraint/schema_check.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "constraint/pattern_check.h"

namespace deepinfer::constraint {
namespace {

// ---- What is enforced. One list per way to read a schema; the first that applies is taken.

using Names = std::span<const std::string_view>;

/// Keywords that say nothing about validity, and where definitions are kept.
constexpr std::string_view kAnnotations[] = {
    "$schema", "$id",      "$comment",    "$defs",       "definitions",      "title",
    "default", "examples", "example",     "deprecated",  "readOnly",         "writeOnly",
    "format",  "$anchor",  "$vocabulary", "description", "contentMediaType", "contentEncoding",
};
/// Keywords that do. Other names are no JSON Schema: validators pass over them too.
constexpr std::string_view kKeywords[] = {
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$dynamicAnchor",
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "minLength",
    "maxLength",
    "pattern",
    "contentSchema",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "unevaluatedItems",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
};

constexpr std::string_view kOfRef[] = {"$ref"};
constexpr std::string_view kOfConst[] = {"const", "type"};
constexpr std::string_view kOfEnum[] = {"enum", "type"};
constexpr std::string_view kOfAnyOf[] = {"anyOf"};
constexpr std::string_view kOfOneOf[] = {"oneOf"};
constexpr std::string_view kOfAllOf[] = {"allOf"};
constexpr std::string_view kOfString[] = {"type", "minLength", "maxLength", "pattern"};
constexpr std::string_view kOfInteger[] = {
    "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
constexpr std::string_view kOfNumber[] = {"type", "minimum", "maximum", "exclusiveMinimum",
                                          "exclusiveMaximum"};
constexpr std::string_view kOfPlain[] = {"type"};
constexpr std::string_view kOfArray[] = {"type", "items", "prefixItems", "minItems", "maxItems"};
constexpr std::string_view kOfObject[] = {
    "type",          "properties",    "required",     "additionalProperties", "patternProperties",
    "propertyNames", "minProperties", "maxProperties"};

struct TypeRow {
  std::string_view name;
  Names keywords;
};
constexpr TypeRow kTypes[] = {
    {"string", kOfString}, {"integer", kOfInteger}, {"number", kOfNumber}, {"boolean", kOfPlain},
    {"null", kOfPlain},    {"array", kOfArray},     {"object", kOfObject},
};

/// Keywords that say how a schema is read, whatever stands beside them.
struct ReadingRow {
  std::string_view decides;
  Names keywords;
};
constexpr ReadingRow kReadings[] = {
    {"$ref", kOfRef},    {"const", kOfConst}, {"enum", kOfEnum},
    {"anyOf", kOfAnyOf}, {"oneOf", kOfOneOf}, {"allOf", kOfAllOf},
};

/// Formats of strings whose shape is enforced.
constexpr std::string_view kFormats[] = {
    "email",         "date",
    "time",          "date-time",
    "duration",      "ipv4",
    "ipv6",          "hostname",
    "uuid",          "uri",
    "uri-reference", "uri-template",
    "json-pointer",  "relative-json-pointer",
};

constexpr std::string_view kCounts[] = {"minLength", "maxLength",     "minItems",
                                        "maxItems",  "minProperties", "maxProperties"};

template <typename List>
bool has(const List& names, std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

const TypeRow* find_type(const Json& name) {
  for (const TypeRow& row : kTypes) {
    if (name == row.name) {
      return &row;
    }
  }
  return nullptr;
}

bool is_of_type(const Json& value, std::string_view type) {
  switch (value.type()) {
    case Json::value_t::string:
      return type == "string";
    case Json::value_t::boolean:
      return type == "boolean";
    case Json::value_t::null:
      return type == "null";
    case Json::value_t::array:
      return type == "array";
    case Json::value_t::object:
      return type == "object";
    case Json::value_t::number_float:
      return type == "number";
    default:
      return type == "number" || type == "integer";
  }
}

// ---- The walk.

class Checker {
 public:
  Checker(const Json& root, const SchemaLimits& limits) : root_(root), limits_(limits) {}

  Status run(const Json& node, const std::string& place) { return schema(node, place); }

 private:
  Status refuse(const std::string& place, std::string_view keyword, std::string_view why) const {
    return invalid_argument(fmt::format("`{}` at {} {}", keyword, place, why))
        .with_reason("unsupported_schema");
  }
  Status beside(const std::string& place, std::string_view keyword, std::string_view other) const {
    return refuse(place, keyword, fmt::format("cannot be enforced beside `{}`", other));
  }

  Status schema(const Json& node, const std::string& place) {
    if (++num_nodes_ > limits_.max_nodes) {
      return invalid_argument(fmt::format("the schema has more than {} nodes", limits_.max_nodes))
          .with_reason("unsupported_schema");
    }
    if (node.is_boolean()) {
      return Status::ok();
    }
    if (!node.is_object()) {
      return invalid_argument(fmt::format("{} must be an object or a boolean", place))
          .with_reason("unsupported_schema");
    }
    DI_TRY(keywords(node, place));
    DI_TRY(values(node, place));
    DI_TRY(string_rules(node, place));
    DI_TRY(object_rules(node, place));
    return subschemas(node, place);
  }

  /// The keywords under which `node` is read, named by what decides it.
  std::vector<std::string_view> reading(const Json& node, std::string_view& decided_by) const {
    for (const ReadingRow& row : kReadings) {
      if (node.contains(row.decides)) {
        decided_by = row.decides;
        return {row.keywords.begin(), row.keywords.end()};
      }
    }
    std::vector<std::string_view> names;
    if (const auto type = node.find("type"); type != node.end()) {
      decided_by = "type";
      const auto add = [&](const Json& name) {
        if (const TypeRow* row = find_type(name)) {
          names.insert(names.end(), row->keywords.begin(), row->keywords.end());
        }
      };
      if (type->is_array()) {
        std::for_each(type->begin(), type->end(), add);
      } else {
        add(*type);
      }
      return names;
    }
    // Without a type these say that it is an object or an array.
    decided_by = "properties";
    if (node.contains("properties") || node.contains("additionalProperties")) {
      return {std::begin(kOfObject), std::end(kOfObject)};
    }
    decided_by = "items";
    if (node.contains("items") || node.contains("prefixItems")) {
      return {std::begin(kOfArray), std::end(kOfArray)};
    }
    decided_by = {};
    return names;
  }

  Status keywords(const Json& node, const std::string& place) const {
    std::string_view decided_by;
    const auto enforced = reading(node, decided_by);
    for (const auto& member : node.items()) {
      const std::string& name = member.key();
      const bool vacuous = name == "uniqueItems" && member.value() == false;
      if (vacuous || has(enforced, name) || has(kAnnotations, name) || !has(kKeywords, name)) {
        continue;
      }
      if (decided_by.empty()) {
        return refuse(place, name, "cannot be enforced without `type`");
      }
      const bool known = std::any_of(std::begin(kTypes), std::end(kTypes),
                                     [&](const TypeRow& row) { return has(row.keywords, name); });
      return known || has(kOfRef, name) ? beside(place, name, decided_by)
                                        : refuse(place, name, "is not supported");
    }
    return types(node, place);
  }

  Status types(const Json& node, const std::string& place) const {
    const auto type = node.find("type");
    if (type == node.end()) {
      return Status::ok();
    }
    const bool list = type->is_array() && !type->empty();
    const bool known =
        list ? std::all_of(type->begin(), type->end(),
                           [](const Json& name) { return find_type(name) != nullptr; })
             : find_type(*type) != nullptr;
    return known ? Status::ok()
                 : refuse(place, "type",
                          "must be one of string, integer, number, boolean, null, array, object, "
                          "or a list of them");
  }

  bool fits_type(const Json& value, const Json& node) const {
    const auto type = node.find("type");
    if (type == node.end()) {
      return true;
    }
    if (!type->is_array()) {
      return is_of_type(value, type->get<std::string>());
    }
    return std::any_of(type->begin(), type->end(), [&](const Json& name) {
      return is_of_type(value, name.get<std::string>());
    });
  }

  /// `const` and `enum`: beside `type` every value must fit it, for the type is passed over.
  Status values(const Json& node, const std::string& place) {
    if (const auto value = node.find("const"); value != node.end()) {
      return fits_type(*value, node) ? Status::ok()
                                     : refuse(place, "const", "is not of the `type`");
    }
    const auto list = node.find("enum");
    if (list == node.end()) {
      return Status::ok();
    }
    if (!list->is_array() || list->empty()) {
      return refuse(place, "enum", "must be a list of at least one value");
    }
    num_enum_values_ += static_cast<int>(list->size());
    if (num_enum_values_ > limits_.max_enum_values) {
      return refuse(place, "enum",
                    fmt::format("makes more than {} values", limits_.max_enum_values));
    }
    const bool fit = std::all_of(list->begin(), list->end(),
                                 [&](const Json& value) { return fits_type(value, node); });
    return fit ? Status::ok() : refuse(place, "enum", "holds a value that is not of the `type`");
  }

  bool may_be(const Json& node, std::string_view name) const {
    const auto type = node.find("type");
    return type != node.end() && (type->is_array() ? has(*type, name) : *type == name);
  }

  Status string_rules(const Json& node, const std::string& place) const {
    for (const std::string_view name : kCounts) {
      const auto count = node.find(name);
      if (count == node.end()) {
        continue;
      }
      if (!count->is_number_unsigned() ||
          count->get<uint64_t>() > static_cast<uint64_t>(limits_.max_count)) {
        return refuse(place, name, fmt::format("must be an integer in [0, {}]", limits_.max_count));
      }
    }
    if (!may_be(node, "string") || node.contains("enum") || node.contains("const")) {
      return Status::ok();
    }
    const bool sized = node.contains("minLength") || node.contains("maxLength");
    if (const auto format = node.find("format"); format != node.end()) {
      if (!format->is_string() || !has(kFormats, format->get<std::string>())) {
        return refuse(place, "format", fmt::format("{} is not supported", format->dump()));
      }
      if (node.contains("pattern")) {
        return beside(place, "pattern", "format");
      }
      return sized ? beside(place, node.contains("minLength") ? "minLength" : "maxLength", "format")
                   : Status::ok();
    }
    const auto pattern = node.find("pattern");
    if (pattern == node.end()) {
      return Status::ok();
    }
    if (sized) {
      return beside(place, node.contains("minLength") ? "minLength" : "maxLength", "pattern");
    }
    return check_regex(*pattern, place, "pattern");
  }

  Status check_regex(const Json& pattern, const std::string& place, std::string_view name) const {
    if (!pattern.is_string()) {
      return refuse(place, name, "must be a string");
    }
    const Status checked =
        check_pattern(pattern.get_ref<const std::string&>(), limits_.max_pattern_bytes);
    return checked.is_ok() ? checked : refuse(place, name, "is refused: " + checked.message());
  }

  /// Combinations under which XGrammar would let through what the schema forbids.
  Status object_rules(const Json& node, const std::string& place) const {
    const auto patterns = node.find("patternProperties");
    const bool closed =
        node.contains("additionalProperties") && node["additionalProperties"] == false;
    if (patterns != node.end()) {
      if (!patterns->is_object() || patterns->size() != 1 || !closed ||
          node.contains("properties")) {
        return refuse(place, "patternProperties",
                      "is enforced only with one pattern, without `properties` and with "
                      "`additionalProperties: false`");
      }
      DI_TRY(check_regex(patterns->items().begin().key(), place, "patternProperties"));
    }
    if (node.contains("propertyNames") && (node.contains("properties") || patterns != node.end())) {
      return beside(place, "propertyNames",
                    node.contains("properties") ? "properties" : "patternProperties");
    }
    if (node.contains("minProperties") && !closed && node["minProperties"] != 0) {
      return refuse(place, "minProperties", "is enforced only with `additionalProperties: false`");
    }
    return required(node, place);
  }

  Status required(const Json& node, const std::string& place) const {
    const auto names = node.find("required");
    if (names == node.end()) {
      return Status::ok();
    }
    if (!names->is_array()) {
      return refuse(place, "required", "must be a list of names");
    }
    const auto properties = node.find("properties");
    for (const Json& name : *names) {
      if (!name.is_string()) {
        return refuse(place, "required", "must be a list of names");
      }
      const auto& text = name.get_ref<const std::string&>();
      if (properties == node.end() || !properties->is_object() || !properties->contains(text)) {
        return refuse(place, "required",
                      fmt::format("names `{}`, which is not in `properties`", text));
      }
    }
    return Status::ok();
  }

  Status subschemas(const Json& node, const std::string& place) {
    for (const std::string_view name : {"items", "additionalProperties", "propertyNames"}) {
      if (const auto child = node.find(name); child != node.end()) {
        DI_TRY(schema(*child, fmt::format("{}/{}", place, name)));
      }
    }
    for (const std::string_view name : {"properties", "patternProperties"}) {
      DI_TRY(each(node, name, place, &Json::is_object, "must be an object"));
    }
    for (const std::string_view name : {"anyOf", "oneOf", "allOf", "prefixItems"}) {
      DI_TRY(each(node, name, place, &Json::is_array, "must be a list"));
    }
    if (const auto all = node.find("allOf"); all != node.end() && all->size() != 1) {
      return refuse(place, "allOf", "is enforced only with one schema");
    }
    const auto target = node.find("$ref");
    return target == node.end() ? Status::ok() : reference(*target, place);
  }

  Status each(const Json& node, std::string_view name, const std::string& place,
              bool (Json::*is_kind)() const noexcept, std::string_view kind) {
    const auto children = node.find(name);
    if (children == node.end()) {
      return Status::ok();
    }
    if (!((*children).*is_kind)() || (children->is_array() && children->empty())) {
      return refuse(place, name, kind);
    }
    for (const auto& [key, child] : children->items()) {
      DI_TRY(schema(child, fmt::format("{}/{}/{}", place, name, key)));
    }
    return Status::ok();
  }

  Status reference(const Json& target, const std::string& place) {
    const std::string uri = target.is_string() ? target.get<std::string>() : "";
    if (uri == "#" || !references_.insert(uri).second) {
      return Status::ok();
    }
    if (uri.rfind("#/", 0) != 0 || uri.find('%') != std::string::npos) {
      return refuse(place, "$ref", "must be `#` or begin with `#/`, without percent signs");
    }
    const Json* found = nullptr;
    try {
      found = &root_.at(Json::json_pointer(uri.substr(1)));
    } catch (const Json::exception&) {
      return refuse(place, "$ref", fmt::format("names {}, which does not exist", uri));
    }
    return schema(*found, uri);
  }

  const Json& root_;
  const SchemaLimits& limits_;
  int num_nodes_ = 0;
  int num_enum_values_ = 0;
  /// References whose targets were looked at.
  std::set<std::string> references_;
};

bool is_too_deep(std::string_view text, int max_depth) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth) {
        return true;
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_schema(std::string_view text, const SchemaLimits& limits) {
  std::string problem;
  if (text.size() > limits.max_bytes) {
    problem = fmt::format("the schema has {} bytes; at most {} are accepted", text.size(),
                          limits.max_bytes);
  } else if (is_too_deep(text, limits.max_depth)) {
    problem = fmt::format("the schema is nested more than {} deep", limits.max_depth);
  } else {
    Json parsed = Json::parse(text, nullptr, false);
    if (!parsed.is_discarded()) {
      return parsed;
    }
    problem = "the schema is not JSON";
  }
  return invalid_argument(problem).with_reason("unsupported_schema");
}

void close_objects(Json& schema) {
  if (!schema.is_object()) {
    return;
  }
  for (const std::string_view name : {"properties", "patternProperties", "$defs", "definitions",
                                      "anyOf", "oneOf", "allOf", "prefixItems"}) {
    if (const auto children = schema.find(name);
        children != schema.end() && children->is_structured()) {
      for (Json& child : *children) {
        close_objects(child);
      }
    }
  }
  for (const std::string_view name : {"items", "additionalProperties", "propertyNames"}) {
    if (const auto child = schema.find(name); child != schema.end()) {
      close_objects(*child);
    }
  }
  const auto properties = schema.find("properties");
  const bool declares = properties != schema.end() && properties->is_object() &&
                        !properties->empty() && !schema.contains("patternProperties") &&
                        !schema.contains("propertyNames");
  if (declares && !schema.contains("additionalProperties")) {
    schema["additionalProperties"] = false;
  }
}

Status check_schema(const Json& schema, const SchemaLimits& limits) {
  return Checker(schema, limits).run(schema, "#");
}

Status check_subschema(const Json& root, const Json& node, const std::string& place,
                       const SchemaLimits& limits) {
  return Checker(root, limits).run(node, place);
}

}  // namespace deepinfer::constraint
