#pragma once

/// JSON text exactly as the prompt encodings and output constraints write it (recipe spec §5,
/// "Common parts"): members in their given order, non-ASCII and `/` literal, shortest digits.

#include <string>
#include <string_view>

#include "recipe/chat.h"

namespace deepinfer::recipe {

/// How JSON text is spaced and where floats change to exponent form.
enum class JsonStyle {
  kCompact,    ///< `{"a":1}`, 1e-5 ≤ |x| < 1e16 fixed, `1e-7`: output constraints
  kSpacedV4,   ///< `{"a": 1}`, numbers as kCompact: V4 prompts
  kSpacedV41,  ///< `{"a": 1}`, 1e-4 ≤ |x| < 1e16 fixed, `1e-07`: V4.1 prompts
};

/// Appends `text` with JSON's string escapes: `\"`, `\\`, the short control escapes and
/// `\u00xx` for the other control characters; everything else literal.
void append_json_escaped(std::string_view text, std::string& out);

/// `text` as a JSON string, quotes included.
void append_json_string(std::string_view text, std::string& out);

/// `value` as JSON text. Recurses once per level of nesting.
void append_json(const Json& value, JsonStyle style, std::string& out);

}  // namespace deepinfer::recipe
