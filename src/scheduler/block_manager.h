#pragma once

/// Which cache blocks are in use, and how often.

#include <cstdint>
#include <vector>

namespace deepinfer::scheduler {

/// Hands out block ids 0 … num_blocks - 1 and counts references to them. Knows nothing of what
/// they hold. Rank thread only; every operation costs the number of blocks it touches.
class BlockManager {
 public:
  BlockManager(int32_t num_blocks, int32_t block_size);

  int32_t block_size() const { return block_size_; }
  int32_t num_blocks() const { return static_cast<int32_t>(references_.size()); }
  int32_t num_free() const { return static_cast<int32_t>(free_.size()); }
  int32_t num_used() const { return num_blocks() - num_free(); }

  /// Blocks that hold `num_tokens` positions.
  int32_t blocks_for(int64_t num_tokens) const {
    return static_cast<int32_t>((num_tokens + block_size_ - 1) / block_size_);
  }

  /// Appends fresh blocks to `table` until it holds `num_tokens` positions. False if too few
  /// are free; nothing changes then.
  [[nodiscard]] bool grow(std::vector<int32_t>& table, int64_t num_tokens);
  /// One more user of `block`, which must be in use.
  void share(int32_t block);
  /// Gives up one reference to every block of `table` and empties it.
  void release(std::vector<int32_t>& table);

 private:
  const int32_t block_size_;
  std::vector<int32_t> references_;  // by block id
  std::vector<int32_t> free_;        // a stack: the block freed last is used next
};

}  // namespace deepinfer::scheduler
