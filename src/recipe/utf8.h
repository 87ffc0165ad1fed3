#pragma once

/// The few questions the recipe asks of UTF-8 bytes.

#include <cstddef>
#include <string>
#include <string_view>

namespace deepinfer::recipe {

/// U+FFFD, which stands for bytes that are no character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Length of the character that starts at `bytes[0]`, or 0 if none is complete and valid
/// there. Surrogates, overlong forms and values above U+10FFFF are not valid.
size_t utf8_character_length(std::string_view bytes);

bool is_valid_utf8(std::string_view bytes);

/// Appends `bytes` to `out`, each maximal invalid part as one U+FFFD (the Unicode standard's
/// "substitution of maximal subparts", as Python's and Rust's lossy decoders do).
void append_lossy(std::string_view bytes, std::string& out);

/// True if the last character of `bytes` is complete and valid.
bool ends_in_whole_character(std::string_view bytes);

}  // namespace deepinfer::recipe
