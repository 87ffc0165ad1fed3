#pragma once

/// Whether an output agrees with a recorded case: the rules of tests/data/recipe/README.md.

#include <string>

#include "recipe/json_reader.h"

namespace deepinfer::protocol::test {

using recipe::Json;

/// Empty if it agrees, else what differs.
std::string difference(const std::string& kind, const Json& input, const Json& expected,
                       const Json& got);

}  // namespace deepinfer::protocol::test
