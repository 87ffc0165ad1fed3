// Validity of JSON Schemas: the meta-schema of draft 2020-12 as a table, one keyword a row.
// Source: https://json-schema.org/draft/2020-12/schema and its vocabularies.

#include <cmath>
#include <set>
#include <string_view>

#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

using Problem = std::optional<std::string>;

enum class Shape {
  kAny,
  kString,
  kBoolean,
  kNumber,
  kPositiveNumber,
  kCount,  ///< a whole number of at least 0
  kRegex,
  kList,
  kStringSet,
  kType,
  kSchema,
  kSchemaList,
  kSchemaMap,
  kPatternMap,  ///< schemas by regular expression
  kStringSetMap,
  kBooleanMap,
  kDependencies,
};

struct Keyword {
  std::string_view name;
  Shape shape;
};

constexpr Keyword kKeywords[] = {
    {"$anchor", Shape::kString},
    {"$comment", Shape::kString},
    {"$defs", Shape::kSchemaMap},
    {"$dynamicAnchor", Shape::kString},
    {"$dynamicRef", Shape::kString},
    {"$id", Shape::kString},
    {"$recursiveAnchor", Shape::kString},
    {"$recursiveRef", Shape::kString},
    {"$ref", Shape::kString},
    {"$schema", Shape::kString},
    {"$vocabulary", Shape::kBooleanMap},
    {"additionalProperties", Shape::kSchema},
    {"allOf", Shape::kSchemaList},
    {"anyOf", Shape::kSchemaList},
    {"contains", Shape::kSchema},
    {"contentEncoding", Shape::kString},
    {"contentMediaType", Shape::kString},
    {"contentSchema", Shape::kSchema},
    {"default", Shape::kAny},
    {"definitions", Shape::kSchemaMap},
    {"dependencies", Shape::kDependencies},
    {"dependentRequired", Shape::kStringSetMap},
    {"dependentSchemas", Shape::kSchemaMap},
    {"deprecated", Shape::kBoolean},
    {"description", Shape::kString},
    {"else", Shape::kSchema},
    {"enum", Shape::kList},
    {"examples", Shape::kList},
    {"exclusiveMaximum", Shape::kNumber},
    {"exclusiveMinimum", Shape::kNumber},
    {"format", Shape::kString},
    {"if", Shape::kSchema},
    {"items", Shape::kSchema},
    {"maxContains", Shape::kCount},
    {"maxItems", Shape::kCount},
    {"maxLength", Shape::kCount},
    {"maxProperties", Shape::kCount},
    {"maximum", Shape::kNumber},
    {"minContains", Shape::kCount},
    {"minItems", Shape::kCount},
    {"minLength", Shape::kCount},
    {"minProperties", Shape::kCount},
    {"minimum", Shape::kNumber},
    {"multipleOf", Shape::kPositiveNumber},
    {"not", Shape::kSchema},
    {"oneOf", Shape::kSchemaList},
    {"pattern", Shape::kRegex},
    {"patternProperties", Shape::kPatternMap},
    {"prefixItems", Shape::kSchemaList},
    {"properties", Shape::kSchemaMap},
    {"propertyNames", Shape::kSchema},
    {"readOnly", Shape::kBoolean},
    {"required", Shape::kStringSet},
    {"then", Shape::kSchema},
    {"title", Shape::kString},
    {"type", Shape::kType},
    {"unevaluatedItems", Shape::kSchema},
    {"unevaluatedProperties", Shape::kSchema},
    {"uniqueItems", Shape::kBoolean},
    {"writeOnly", Shape::kBoolean},
};

constexpr std::string_view kTypes[] = {"array",  "boolean", "integer", "null",
                                       "number", "object",  "string"};

/// What was found, cut to a readable length.
std::string shown(const Json& value) {
  constexpr size_t kMaxShown = 200;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShown) {
    size_t cut = kMaxShown;
    while (cut > 0 && (static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) {
      --cut;
    }
    text = text.substr(0, cut) + "...";
  }
  return text;
}

Problem is_not(const Json& value, std::string_view expected) {
  return shown(value) + " is not " + std::string(expected);
}

bool is_type_name(const Json& value) {
  for (const std::string_view name : kTypes) {
    if (value == name) {
      return true;
    }
  }
  return false;
}

Problem check_string_set(const Json& value) {
  if (!value.is_array()) {
    return is_not(value, "of type \"array\"");
  }
  std::set<std::string_view> seen;
  for (const Json& item : value) {
    if (!item.is_string()) {
      return is_not(item, "of type \"string\"");
    }
    if (!seen.insert(item.get_ref<const std::string&>()).second) {
      return shown(value) + " has non-unique elements";
    }
  }
  return std::nullopt;
}

Problem check_type(const Json& value) {
  bool valid = is_type_name(value);
  if (value.is_array() && !value.empty()) {
    std::set<std::string_view> seen;
    valid = true;
    for (const Json& item : value) {
      valid = valid && is_type_name(item) && seen.insert(item.get_ref<const std::string&>()).second;
    }
  }
  return valid ? std::nullopt
               : is_not(value, "valid under any of the schemas listed in the 'anyOf' keyword");
}

Problem check_regex(std::string_view pattern) {
  if (const Problem problem = regex_problem(pattern)) {
    return shown(Json(std::string(pattern))) + " is not a \"regex\": " + *problem;
  }
  return std::nullopt;
}

template <typename Check>
Problem check_map(const Json& value, const Check& check) {
  if (!value.is_object()) {
    return is_not(value, "of type \"object\"");
  }
  for (const auto& [name, item] : value.get_ref<const Json::object_t&>()) {
    if (Problem problem = check(name, item)) {
      return problem;
    }
  }
  return std::nullopt;
}

Problem check_schema(const Json& schema);

Problem check_schema_list(const Json& value) {
  if (!value.is_array()) {
    return is_not(value, "of type \"array\"");
  }
  if (value.empty()) {
    return std::string("[] has less than 1 item");
  }
  for (const Json& item : value) {
    if (Problem problem = check_schema(item)) {
      return problem;
    }
  }
  return std::nullopt;
}

Problem check_number(Shape shape, const Json& value) {
  if (!value.is_number()) {
    return is_not(value, shape == Shape::kCount ? "of type \"integer\"" : "of type \"number\"");
  }
  const auto number = value.get<double>();
  if (shape == Shape::kPositiveNumber && number <= 0) {
    return shown(value) + " is less than or equal to the minimum of 0";
  }
  if (shape == Shape::kCount && number != std::floor(number)) {
    return is_not(value, "of type \"integer\"");
  }
  if (shape == Shape::kCount && number < 0) {
    return shown(value) + " is less than the minimum of 0";
  }
  return std::nullopt;
}

Problem check_keyword(Shape shape, const Json& value) {
  const auto schema = [](const std::string&, const Json& item) { return check_schema(item); };
  switch (shape) {
    case Shape::kAny:
      return std::nullopt;
    case Shape::kString:
      return value.is_string() ? std::nullopt : is_not(value, "of type \"string\"");
    case Shape::kBoolean:
      return value.is_boolean() ? std::nullopt : is_not(value, "of type \"boolean\"");
    case Shape::kNumber:
    case Shape::kPositiveNumber:
    case Shape::kCount:
      return check_number(shape, value);
    case Shape::kRegex:
      return value.is_string() ? check_regex(value.get_ref<const std::string&>())
                               : is_not(value, "of type \"string\"");
    case Shape::kList:
      return value.is_array() ? std::nullopt : is_not(value, "of type \"array\"");
    case Shape::kStringSet:
      return check_string_set(value);
    case Shape::kType:
      return check_type(value);
    case Shape::kSchema:
      return check_schema(value);
    case Shape::kSchemaList:
      return check_schema_list(value);
    case Shape::kSchemaMap:
      return check_map(value, schema);
    case Shape::kPatternMap:
      return check_map(value, [](const std::string& name, const Json& item) {
        const Problem problem = check_regex(name);
        return problem ? problem : check_schema(item);
      });
    case Shape::kStringSetMap:
      return check_map(value,
                       [](const std::string&, const Json& item) { return check_string_set(item); });
    case Shape::kBooleanMap:
      return check_map(value, [](const std::string&, const Json& item) {
        return check_keyword(Shape::kBoolean, item);
      });
    case Shape::kDependencies:
      return check_map(value, [](const std::string&, const Json& item) {
        return item.is_array() ? check_string_set(item) : check_schema(item);
      });
  }
  return std::nullopt;
}

Problem check_schema(const Json& schema) {
  if (schema.is_boolean()) {
    return std::nullopt;
  }
  if (!schema.is_object()) {
    return is_not(schema, "of types \"boolean\", \"object\"");
  }
  for (const auto& [name, value] : schema.get_ref<const Json::object_t&>()) {
    for (const Keyword& keyword : kKeywords) {
      if (keyword.name != name) {
        continue;
      }
      if (Problem problem = check_keyword(keyword.shape, value)) {
        return problem;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> json_schema_problem(const Json& schema) {
  return check_schema(schema);
}

}  // namespace deepinfer::protocol
