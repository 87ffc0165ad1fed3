#pragma once

/// JSON read the strict way (recipe spec §1, "Parse rules"), with the members in their order.

#include <optional>
#include <string_view>

#include "recipe/chat.h"

namespace deepinfer::recipe {

/// Deepest nesting of arrays and objects that is accepted.
inline constexpr int kMaxJsonDepth = 127;

/// The value of `text`, or nothing if it is not exactly one JSON value: bytes after it, a BOM,
/// invalid UTF-8, lone surrogates, numbers beyond double range and deeper nesting are refused.
/// A repeated member keeps its first place and its last value; `-0` is the float -0.0. Time
/// and memory grow linearly, however many members an object has.
std::optional<Json> parse_strict_json(std::string_view text);

}  // namespace deepinfer::recipe
