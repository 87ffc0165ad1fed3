#pragma once

/// Properties of model output, whatever takes it apart.

#include <array>
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
  /// Bytes of the text between control tokens. An answer cannot spell markup of which a byte is
  /// missing here. (With all of them it can: what stood between two parts may be gone.)
  std::array<bool, 256> has_byte{};
};
OutputFacts facts_of(std::span<const TokenId> ids);

/// Checks one text of an answer.
void expect_text(std::string_view text, const OutputFacts& facts, bool hides_markup);

}  // namespace deepinfer::fuzz
