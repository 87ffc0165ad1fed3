#pragma once

/// Token ids back to text while they arrive.

#include <span>
#include <string>

#include "recipe/tokenizer.h"

namespace deepinfer::recipe {

/// Turns a stream of ids into text, whole UTF-8 characters only (§6, "Decoding a stream").
/// One stream, one thread.
class IncrementalDetokenizer {
 public:
  explicit IncrementalDetokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Text released by this id; bytes of an unfinished or invalid character wait for more. A
  /// special id releases what waits and its own spelling; an unknown one adds nothing.
  std::string push(TokenId id);
  /// The same for ids that arrived together, none of them special: they wait together, too.
  std::string push_run(std::span<const TokenId> ids);
  /// What is still held back, with U+FFFD for bytes that are not UTF-8; nothing waits then. A
  /// caller that follows the reference, which drops the tail of a stream, does not call it.
  std::string finish();

 private:
  bool ends_in_released_character() const;

  const Tokenizer& tokenizer_;
  std::string pending_;
};

}  // namespace deepinfer::recipe
