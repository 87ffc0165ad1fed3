#include "recipe/detokenizer.h"

#include <string_view>

#include "recipe/utf8.h"

namespace deepinfer::recipe {

std::string IncrementalDetokenizer::push(TokenId id) {
  if (!tokenizer_.is_special(id)) {
    return push_run({&id, 1});
  }
  std::string released = finish();
  released.append(tokenizer_.token_bytes(id));
  return released;
}

std::string IncrementalDetokenizer::push_run(std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    pending_.append(tokenizer_.token_bytes(id));
  }
  return ends_in_released_character() ? finish() : std::string();
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
