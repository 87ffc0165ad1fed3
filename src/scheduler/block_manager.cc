#include "scheduler/block_manager.h"

#include <cstddef>
#include <numeric>

#include "base/check.h"

namespace deepinfer::scheduler {

BlockManager::BlockManager(int32_t num_blocks, int32_t block_size)
    : block_size_(block_size),
      references_(static_cast<size_t>(num_blocks), 0),
      free_(static_cast<size_t>(num_blocks)) {
  DI_CHECK(block_size > 0);
  std::iota(free_.rbegin(), free_.rend(), 0);  // block 0 on top
}

bool BlockManager::grow(std::vector<int32_t>& table, int64_t num_tokens) {
  const int32_t missing = blocks_for(num_tokens) - static_cast<int32_t>(table.size());
  if (missing > num_free()) {
    return false;
  }
  for (int32_t i = 0; i < missing; ++i) {
    const int32_t block = free_.back();
    free_.pop_back();
    references_[static_cast<size_t>(block)] = 1;
    table.push_back(block);
  }
  return true;
}

void BlockManager::share(int32_t block) {
  int32_t& references = references_[static_cast<size_t>(block)];
  DI_CHECK(references > 0);
  ++references;
}

void BlockManager::release(std::vector<int32_t>& table) {
  for (auto block = table.rbegin(); block != table.rend(); ++block) {
    int32_t& references = references_[static_cast<size_t>(*block)];
    DI_CHECK(references > 0);
    if (--references == 0) {
      free_.push_back(*block);
    }
  }
  table.clear();
}

}  // namespace deepinfer::scheduler
