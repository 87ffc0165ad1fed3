#pragma once

/// Engram's compressed vocabulary: token ids whose spellings look alike share one id (model
/// spec §5.1).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::model {

/// Token id -> compressed id, in order of first appearance.
struct TokenMap {
  std::vector<int32_t> compressed;
  int32_t num_compressed = 0;
};

/// What token spellings are compared by: the spelling decoded from the byte alphabet, without
/// case, marks, compatibility forms and surplus white space; the raw spelling if its bytes are
/// not UTF-8 or hold U+FFFD.
std::string compressed_key(std::string_view spelling);

/// The map of `dir`/tokenizer.json, added tokens included. kFailedPrecondition for a file that
/// is damaged or whose ids are not 0 .. n-1.
Result<TokenMap> load_token_map(const std::string& dir);
/// The same from the text of a tokenizer.json.
Result<TokenMap> parse_token_map(std::string_view text);

/// The bytes of the `vocab_size` tokens of `dir`/tokenizer.json, by id: empty for added tokens and
/// for ids without a spelling.
Result<std::vector<std::string>> load_token_bytes(const std::string& dir, int32_t vocab_size);

}  // namespace deepinfer::model
