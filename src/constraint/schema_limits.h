#pragma once

/// Bounds of what is accepted as a schema.

#include <cstddef>
#include <cstdint>

namespace deepinfer::constraint {

/// Bounds of one schema. Beyond them compiling costs more than a request may.
struct SchemaLimits {
  size_t max_bytes = size_t{256} * 1024;
  int max_depth = 64;
  int max_nodes = 4096;
  int max_enum_values = 4096;
  size_t max_pattern_bytes = 4096;
  /// Of minLength, maxLength, minItems, maxItems, minProperties and maxProperties.
  int64_t max_count = 65536;
};

}  // namespace deepinfer::constraint
