#pragma once

/// Which JSON Schemas can be enforced. XGrammar passes over keywords that it does not know or
/// that stand beside others; what it would pass over is refused here by name.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "constraint/schema_limits.h"
#include "deepinfer/status.h"

namespace deepinfer::constraint {

using Json = nlohmann::ordered_json;

/// Parses `text` within the limits of size and depth.
Result<Json> parse_schema(std::string_view text, const SchemaLimits& limits);

/// Closes every object that declares properties and does not say what else it may hold, so that a
/// model cannot go on inventing members. What fits the result fits `schema`.
void close_objects(Json& schema);

/// OK if every keyword of `schema`, at any depth, is enforced where it stands; else
/// kInvalidArgument (reason `unsupported_schema`) that names keyword and place.
Status check_schema(const Json& schema, const SchemaLimits& limits);

/// The same for the part of `root` at `place`; references lead into `root`.
Status check_subschema(const Json& root, const Json& node, const std::string& place,
                       const SchemaLimits& limits);

}  // namespace deepinfer::constraint
