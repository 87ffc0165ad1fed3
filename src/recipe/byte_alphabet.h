#pragma once

/// The 256 characters that stand for bytes in a byte-level vocabulary. Printable Latin-1
/// characters stand for themselves; the others for U+0100 onwards, in byte order.
/// Source: GPT-2's `bytes_to_unicode`, as described in the `tokenizers` documentation.

#include <optional>
#include <string>
#include <string_view>

namespace deepinfer::recipe {

/// The bytes that `spelling` stands for; nothing if some character stands for no byte.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace deepinfer::recipe
