#include "recipe/vocabulary.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace deepinfer::recipe {
namespace {

constexpr size_t kFirstCapacity = 1024;

/// Multiplies eight bytes at a time into the state. The table is fixed once a tokenizer is
/// loaded, so no text can make its chains longer.
uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
  uint64_t state = bytes.size() * kMultiplier;
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t block = 0;
    std::memcpy(&block, bytes.data() + i, sizeof(block));
    state = (state ^ block) * kMultiplier;
    state ^= state >> 32U;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
  state = (state ^ tail) * kMultiplier;
  state ^= state >> 29U;
  return state * kMultiplier;
}

uint32_t tag_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32U);
}

}  // namespace

Status Vocabulary::add(TokenId id, std::string_view bytes, bool findable) {
  if (id < 0 || id > kMaxId) {
    return failed_precondition("expected a token id in [0, " + std::to_string(kMaxId) + "], got " +
                               std::to_string(id));
  }
  if (contains(id)) return Status::ok();
  if (findable && find(bytes) != kNoToken) {
    return failed_precondition("expected different tokens, got ids " + std::to_string(find(bytes)) +
                               " and " + std::to_string(id) + " with the same bytes");
  }
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  entries_[static_cast<size_t>(id)] = {
      .offset = storage_.size(), .length = static_cast<uint32_t>(bytes.size()), .used = true};
  storage_.append(bytes);
  if (!findable) return Status::ok();
  if (2 * (num_findable_ + 1) > slots_.size()) grow();
  const uint64_t hash = hash_bytes(bytes);
  slots_[slot_of(bytes, hash)] = {.tag = tag_of(hash), .id = id};
  ++num_findable_;
  longest_findable_ = std::max(longest_findable_, bytes.size());
  return Status::ok();
}

void Vocabulary::grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(std::max(kFirstCapacity, 2 * slots_.size())));
  for (const Slot& slot : old) {
    if (slot.id == kNoToken) continue;
    slots_[slot_of(bytes(slot.id), hash_bytes(bytes(slot.id)))] = slot;
  }
}

size_t Vocabulary::slot_of(std::string_view bytes_wanted, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.id == kNoToken) return i;
    if (slot.tag == tag_of(hash) && bytes(slot.id) == bytes_wanted) return i;
  }
}

TokenId Vocabulary::find(std::string_view bytes_wanted) const {
  if (num_findable_ == 0 || bytes_wanted.size() > longest_findable_) return kNoToken;
  return slots_[slot_of(bytes_wanted, hash_bytes(bytes_wanted))].id;
}

}  // namespace deepinfer::recipe
