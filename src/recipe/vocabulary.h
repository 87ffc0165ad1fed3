#pragma once

/// Token ids and their bytes, both ways.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::recipe {

/// Grows while a tokenizer is read, then is only looked at: thread-safe from there on.
class Vocabulary {
 public:
  static constexpr TokenId kNoToken = -1;
  /// Ids beyond this are refused: tables are as long as the largest id.
  static constexpr TokenId kMaxId = (1 << 22) - 1;

  /// Gives `id` its bytes; the first call for an id wins. With `findable`, `find` knows them.
  /// kFailedPrecondition if `id` is out of range or two findable ids have the same bytes.
  Status add(TokenId id, std::string_view bytes, bool findable);

  /// The bytes of `id`; empty if there is no such id.
  std::string_view bytes(TokenId id) const {
    if (id < 0 || static_cast<size_t>(id) >= entries_.size()) return {};
    const Entry& entry = entries_[static_cast<size_t>(id)];
    return {storage_.data() + entry.offset, entry.length};
  }
  bool contains(TokenId id) const {
    return id >= 0 && static_cast<size_t>(id) < entries_.size() &&
           entries_[static_cast<size_t>(id)].used;
  }
  /// The findable token with exactly these bytes, or kNoToken.
  TokenId find(std::string_view bytes) const;

  /// One more than the largest id.
  TokenId size() const { return static_cast<TokenId>(entries_.size()); }

 private:
  struct Entry {
    uint64_t offset = 0;
    uint32_t length = 0;
    bool used = false;
  };
  /// Open addressing: `tag` is the upper half of the hash, so bytes are compared only when
  /// they are almost surely equal.
  struct Slot {
    uint32_t tag = 0;
    TokenId id = kNoToken;
  };

  void grow();
  size_t slot_of(std::string_view bytes, uint64_t hash) const;

  std::string storage_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  size_t num_findable_ = 0;
  size_t longest_findable_ = 0;
};

}  // namespace deepinfer::recipe
