#pragma once

/// Properties of model output, whatever takes it apart.

#include <span>
#include <string>
#include <string_view>

#include "fuzz/fuzz.h"

namespace deepinfer::fuzz {

/// What can be said of an answer before any part of it is looked at.
struct OutputFacts {
  /// Every stretch between control tokens is UTF-8, and U+FFFD is in none of them: then it is
  /// in no part of the answer.
  bool clean_utf8 = true;
  /// The text spells no control token, not even across the ones that were there: then no part
  /// of an answer without markup does.
  bool spells_no_markup = true;
};
OutputFacts facts_of(std::span<const TokenId> ids);

/// Checks one text of an answer.
void expect_text(std::string_view text, const OutputFacts& facts, bool hides_markup);

}  // namespace deepinfer::fuzz
