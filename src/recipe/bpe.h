#pragma once

/// Byte-pair encoding of one word: merge by merge, the earliest in the list first.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "recipe/vocabulary.h"

namespace deepinfer::recipe {

/// The merges of a vocabulary. Filled while a tokenizer is read, then immutable; encoding is
/// thread-safe. Source: Sennrich et al. 2016, algorithm 1, on bytes.
class Bpe {
 public:
  /// Takes the 256 byte tokens and room for `num_merges` merges.
  /// kFailedPrecondition if `vocabulary` lacks a byte.
  static Result<Bpe> create(const Vocabulary& vocabulary, size_t num_merges);

  /// The merge of `left` and `right` into `merged`; earlier calls go first when encoding. A
  /// pair given again takes its later place.
  void add_merge(TokenId left, TokenId right, TokenId merged);
  /// Call once after the last merge: notes the tokens that encode to themselves, so that a
  /// word which is one is found in a single look-up. With `ignore_merges` every token is.
  void finish(const Vocabulary& vocabulary, bool ignore_merges);

  /// Appends the ids of `word`. O(n log n) in its length; long words take heap memory.
  void encode(std::string_view word, const Vocabulary& vocabulary, std::vector<TokenId>& ids) const;

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  static constexpr uint64_t kNoPair = UINT64_MAX;
  /// Words up to this many bytes are merged in place on the stack.
  static constexpr size_t kShortWord = 48;

  struct Merge {
    uint64_t pair = kNoPair;
    uint32_t rank = kNoRank;
    TokenId merged = Vocabulary::kNoToken;
  };
  /// A symbol of a long word: a doubly linked list in text order.
  struct Symbol {
    TokenId id;
    int32_t previous;
    int32_t next;
  };
  struct Candidate;

  const Merge& find(TokenId left, TokenId right) const;
  size_t slot_of(uint64_t pair) const;
  void merge_short(std::string_view word, std::vector<TokenId>& ids) const;
  void merge_long(std::string_view word, std::vector<TokenId>& ids) const;
  void run_merges(std::vector<Symbol>& symbols) const;

  std::array<TokenId, 256> byte_ids_{};
  std::vector<Merge> slots_;
  uint32_t next_rank_ = 0;
  /// By id: the token's bytes encode to this one token.
  std::vector<bool> encodes_to_itself_;
};

}  // namespace deepinfer::recipe
