#pragma once

/// Bounds on regular expressions and grammars, so that parsing one costs bounded stack and time.

#include <cstddef>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::constraint {

/// OK if `pattern` nests its groups at most 64 deep and has, with every repetition written out, at
/// most 2048 elements; kInvalidArgument says what is too much.
Status check_pattern(std::string_view pattern, size_t max_bytes);

/// The same for an EBNF grammar.
Status check_grammar_text(std::string_view grammar, size_t max_bytes);

}  // namespace deepinfer::constraint
