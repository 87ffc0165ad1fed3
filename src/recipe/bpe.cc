#include "recipe/bpe.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <string>

#include "base/check.h"

namespace deepinfer::recipe {
namespace {

uint64_t pair_key(TokenId left, TokenId right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
}

}  // namespace

Result<Bpe> Bpe::create(const Vocabulary& vocabulary, size_t num_merges) {
  Bpe bpe;
  for (size_t byte = 0; byte < bpe.byte_ids_.size(); ++byte) {
    const auto value = static_cast<char>(byte);
    bpe.byte_ids_[byte] = vocabulary.find({&value, 1});
    if (bpe.byte_ids_[byte] == Vocabulary::kNoToken) {
      return failed_precondition("expected a token for each of the 256 bytes, got none for byte " +
                                 std::to_string(byte));
    }
  }
  bpe.slots_.resize(std::bit_ceil(2 * num_merges + 2));
  return bpe;
}

size_t Bpe::slot_of(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  uint64_t hash = pair * 0x9E3779B97F4A7C15U;
  hash ^= hash >> 32U;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    if (slots_[i].pair == pair || slots_[i].pair == kNoPair) return i;
  }
}

const Bpe::Merge& Bpe::find(TokenId left, TokenId right) const {
  return slots_[slot_of(pair_key(left, right))];
}

void Bpe::add_merge(TokenId left, TokenId right, TokenId merged) {
  DI_CHECK(2 * (next_rank_ + size_t{1}) <= slots_.size());
  const uint64_t pair = pair_key(left, right);
  slots_[slot_of(pair)] = {.pair = pair, .rank = next_rank_++, .merged = merged};
}

void Bpe::finish(const Vocabulary& vocabulary, bool ignore_merges) {
  encodes_to_itself_.assign(static_cast<size_t>(vocabulary.size()), ignore_merges);
  if (ignore_merges) return;
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.find(vocabulary.bytes(id)) != id) continue;
    ids.clear();
    encode(vocabulary.bytes(id), vocabulary, ids);
    encodes_to_itself_[static_cast<size_t>(id)] = ids.size() == 1 && ids[0] == id;
  }
}

void Bpe::encode(std::string_view word, const Vocabulary& vocabulary,
                 std::vector<TokenId>& ids) const {
  const TokenId whole = vocabulary.find(word);
  if (whole != Vocabulary::kNoToken && encodes_to_itself_[static_cast<size_t>(whole)]) {
    ids.push_back(whole);
  } else if (word.size() <= kShortWord) {
    merge_short(word, ids);
  } else {
    merge_long(word, ids);
  }
}

void Bpe::merge_short(std::string_view word, std::vector<TokenId>& ids) const {
  std::array<TokenId, kShortWord> symbols;
  // merges[i] is that of symbols i and i + 1; scanning all of them is cheaper than a heap here.
  std::array<const Merge*, kShortWord> merges;
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i) symbols[i] = byte_ids_[static_cast<uint8_t>(word[i])];
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = &find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i]->rank < merges[best]->rank) best = i;
    }
    if (merges[best]->rank == kNoRank) break;
    symbols[best] = merges[best]->merged;
    std::copy(symbols.data() + best + 2, symbols.data() + count, symbols.data() + best + 1);
    if (best + 2 < count) {
      std::copy(merges.data() + best + 2, merges.data() + count - 1, merges.data() + best + 1);
    }
    --count;
    if (best > 0) merges[best - 1] = &find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) merges[best] = &find(symbols[best], symbols[best + 1]);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.begin() + static_cast<ptrdiff_t>(count));
}

/// A merge that may be done at a place of a long word. Stale once its symbols have changed.
struct Bpe::Candidate {
  uint32_t rank;
  int32_t left;
  TokenId merged;

  /// For a queue whose top is the lowest rank, of equal ones the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

void Bpe::run_merges(std::vector<Symbol>& symbols) const {
  const auto merge_at = [&](int32_t left) -> const Merge* {
    const int32_t right = symbols[static_cast<size_t>(left)].next;
    if (right < 0) return nullptr;
    const Merge& merge =
        find(symbols[static_cast<size_t>(left)].id, symbols[static_cast<size_t>(right)].id);
    return merge.rank == kNoRank ? nullptr : &merge;
  };
  std::vector<Candidate> first;
  for (int32_t i = 0; i < static_cast<int32_t>(symbols.size()); ++i) {
    if (const Merge* merge = merge_at(i)) first.push_back({merge->rank, i, merge->merged});
  }
  std::priority_queue<Candidate> queue({}, std::move(first));
  const auto push = [&](int32_t left) {
    if (const Merge* merge = merge_at(left)) queue.push({merge->rank, left, merge->merged});
  };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<size_t>(top.left)];
    if (left.id == Vocabulary::kNoToken) continue;
    const Merge* merge = merge_at(top.left);
    if (merge == nullptr || merge->rank != top.rank) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    left.id = top.merged;
    left.next = right.next;
    right.id = Vocabulary::kNoToken;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.left;
    push(top.left);
    if (left.previous >= 0) push(left.previous);
  }
}

void Bpe::merge_long(std::string_view word, std::vector<TokenId>& ids) const {
  std::vector<Symbol> symbols(word.size());
  const auto count = static_cast<int32_t>(word.size());
  for (int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<uint8_t>(word[static_cast<size_t>(i)]);
    symbols[static_cast<size_t>(i)] = {
        .id = byte_ids_[byte], .previous = i - 1, .next = i + 1 < count ? i + 1 : -1};
  }
  run_merges(symbols);
  for (const Symbol& symbol : symbols) {
    if (symbol.id != Vocabulary::kNoToken) ids.push_back(symbol.id);
  }
}

}  // namespace deepinfer::recipe
