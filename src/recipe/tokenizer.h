#pragma once

/// Byte-level BPE from a `tokenizer.json` (recipe spec §6).

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::recipe {

/// Text to token ids and back. Immutable after load; all methods are thread-safe.
class Tokenizer {
 public:
  /// Reads `dir`/tokenizer.json. Errors name the file and the member at fault.
  static Result<std::unique_ptr<Tokenizer>> load(const std::string& dir);
  virtual ~Tokenizer() = default;

  /// Ids of `text` as plain text: spellings of control tokens stay text. Bytes that are not
  /// UTF-8 count as U+FFFD. Any text, of any length, is accepted.
  virtual std::vector<TokenId> encode_plain(std::string_view text) const = 0;
  /// Ids of `text`, recognising added tokens by their spelling.
  virtual std::vector<TokenId> encode_full(std::string_view text) const = 0;
  /// The bytes of one token; the spelling for an added token; empty for an unknown id.
  virtual std::string_view token_bytes(TokenId id) const = 0;
  /// True for ids of added tokens: they end pending bytes and count as markers.
  virtual bool is_special(TokenId id) const = 0;
  /// Id of the added token spelled so.
  virtual std::optional<TokenId> special_id(std::string_view spelling) const = 0;
  /// One more than the largest id.
  virtual int32_t vocab_size() const = 0;
};

/// One token's bytes as the log-probability view shows them (§8): the text itself or, if they
/// are not UTF-8, each byte as `\xhh`.
std::string token_text(std::string_view bytes);

}  // namespace deepinfer::recipe
