#pragma once

/// JSON read the strict way (recipe spec §1, "Parse rules"): request bodies, and what models and
/// clients wrote as tool arguments.

#include <cstdint>
#include <string_view>

#include "deepinfer/status.h"
#include "recipe/chat.h"

namespace deepinfer::recipe {

/// Deepest nesting the reference library accepts.
inline constexpr int32_t kMaxJsonDepth = 127;

struct JsonLimits {
  /// Deepest nesting of arrays and objects that is accepted.
  int32_t max_depth = 64;
  /// A repeated member is an error; otherwise the last one wins, in the first one's place.
  bool refuse_duplicate_keys = true;
  /// A value takes up to 50 times the memory of its text, so their number is bounded, too. A
  /// prompt of token ids as long as the model's context is half of this.
  int64_t max_values = int64_t{1} << 21;
};

/// Reads one strict JSON value: no comments, BOM, raw control characters in strings, invalid
/// UTF-8, lone surrogates, numbers beyond double range or bytes after the value. Needs
/// constant stack and time linear in the body, whatever it holds. kInvalidArgument says where.
Result<Json> read_json(std::string_view body, const JsonLimits& limits);

}  // namespace deepinfer::recipe
