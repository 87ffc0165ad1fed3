#pragma once

/// Tools and response schemas (recipe spec §4): names, validity as JSON Schema, and the
/// rewrite of strict schemas into a subset.

#include <optional>
#include <string>
#include <vector>

#include "deepinfer/status.h"
#include "recipe/chat.h"
#include "recipe/json_reader.h"

namespace deepinfer::protocol {

using recipe::Json;

/// Checks one tool name: 1 to 128 of `[a-zA-Z0-9_-]`. `member` is where it stands.
Status check_tool_name(const std::string& name, const std::string& member);
/// The same for the tool at `index` of a chat request.
Status check_tool_name(const std::string& name, size_t index);

/// Checks `parameters` as a JSON Schema for an object. `member` is where they stand.
Status check_tool_schema(const recipe::ToolDeclaration& tool, const std::string& member);

/// Why `schema` is not a JSON Schema of draft 2020-12, or nothing. Checks the shape of every
/// keyword the meta-schema knows, at any depth, and that patterns are regular expressions.
std::optional<std::string> json_schema_problem(const Json& schema);

/// Why `pattern` is not a regular expression (ECMA-262 syntax), or nothing. Time linear in its
/// length; nesting is bounded.
std::optional<std::string> regex_problem(std::string_view pattern);

/// Where a strict schema stands; decides the words of errors.
enum class StrictSchemaUse { kToolParameters, kResponseFormat };

/// `schema` rewritten into the strict subset, members in their fixed order.
Result<Json> strict_schema(const Json& schema, StrictSchemaUse use);

}  // namespace deepinfer::protocol
