#pragma once

/// Reading members of a JSON file with errors that name the member at fault.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::recipe {

/// `where: expected <expected>, got <what value is>`; kFailedPrecondition.
Status wrong_member(const std::string& where, std::string_view expected,
                    const nlohmann::json& value);

/// The member `name` of `object`, or null if it is absent.
const nlohmann::json& member_or_null(const nlohmann::json& object, std::string_view name);

/// `where.name` as a string; absent or another type is an error.
Result<std::string> string_member(const nlohmann::json& object, std::string_view name,
                                  const std::string& where);

/// `where.name` as a bool; absent or null gives `fallback`.
Result<bool> bool_member(const nlohmann::json& object, std::string_view name,
                         const std::string& where, bool fallback);

}  // namespace deepinfer::recipe
