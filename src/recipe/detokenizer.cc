#include "recipe/detokenizer.h"

#include <string_view>

#include "recipe/utf8.h"

namespace deepinfer::recipe {

std::string IncrementalDetokenizer::push(TokenId id) {
  const bool special = tokenizer_.is_special(id);
  if (!special) pending_.append(tokenizer_.token_bytes(id));
  if (!special && !ends_in_released_character()) return {};
  std::string released = finish();
  if (special) released.append(tokenizer_.token_bytes(id));
  return released;
}

/// A real U+FFFD waits too: the rule looks at the text, not at the bytes.
bool IncrementalDetokenizer::ends_in_released_character() const {
  const std::string_view pending = pending_;
  return ends_in_whole_character(pending) && !pending.ends_with(kReplacementCharacter);
}

std::string IncrementalDetokenizer::finish() {
  std::string text;
  append_lossy(pending_, text);
  pending_.clear();
  return text;
}

}  // namespace deepinfer::recipe
