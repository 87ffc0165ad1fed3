#pragma once

/// The added tokens of a tokenizer: control tokens and whatever else is found by spelling.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::recipe {

/// A trie over spellings. Filled while a tokenizer is read, then immutable and thread-safe.
class AddedTokens {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;
    TokenId id = 0;
  };

  /// False, and nothing changes, if `spelling` is empty or already there.
  bool add(std::string_view spelling, TokenId id);

  /// The leftmost added token in `text` at or after `start`; of those that begin at the same
  /// place the longest.
  std::optional<Match> find(std::string_view text, size_t start) const;

  std::optional<TokenId> id_of(std::string_view spelling) const;
  bool contains(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < is_added_.size() &&
           is_added_[static_cast<size_t>(id)];
  }

 private:
  static constexpr TokenId kNoToken = -1;

  /// The node reached from `node` by `byte`, or 0 (the root is nobody's child).
  uint32_t child(uint32_t node, char byte) const;

  /// By (node, byte): the next node.
  std::unordered_map<uint64_t, uint32_t> edges_;
  /// By node: the token spelled by the way to it.
  std::vector<TokenId> tokens_{kNoToken};
  /// Bytes with which some spelling begins; most text is skipped by it.
  std::array<bool, 256> begins_{};
  std::vector<bool> is_added_;
};

}  // namespace deepinfer::recipe
