#pragma once

/// How a rank's memory is divided, decided before anything is allocated.

#include <cstdint>
#include <string>

#include "deepinfer/config.h"
#include "deepinfer/status.h"
#include "model/kv_cache.h"
#include "model/model_config.h"

namespace deepinfer::engine {

/// Sizes of one rank's caches and where they came from. Bytes throughout.
struct MemoryPlan {
  model::KvCacheShape shape;
  /// Longest sequence that is served: the configured or the model's limit, or what the blocks
  /// can hold if that is less.
  int32_t max_model_len = 0;
  /// What the configuration or the model asked for.
  int32_t wanted_model_len = 0;
  int64_t bytes_per_block = 0;
  int64_t bytes_per_slot = 0;
  /// What caches may take.
  int64_t cache_budget = 0;
  /// Free memory the budget was derived from; 0 when it was configured.
  int64_t available = 0;
  int64_t weight_bytes = 0;

  int64_t cache_bytes() const {
    return shape.num_blocks * bytes_per_block + shape.num_slots * bytes_per_slot;
  }
  /// Several lines for logs and `inspect`.
  std::string describe() const;
};

/// Without `kv_cache_memory_bytes`, caches may take half of the available memory, but not more
/// than this: a machine that also does other things should stay usable.
inline constexpr int64_t kDefaultCacheLimit = int64_t{8} << 30;

/// Divides `available_bytes` (free memory of the device once the weights are mapped).
///
/// There is one state slot per running sequence (`max_num_seqs`) and at most as many blocks as
/// those sequences can fill at the longest length. If the budget is smaller, there are fewer
/// blocks and, unless `max_model_len` was configured, a shorter longest sequence.
/// kInvalidArgument if `max_model_len` exceeds the model's limit or `block_size` does not suit
/// its compress ratios; kResourceExhausted names what does not fit and the flag to change.
Result<MemoryPlan> plan_memory(const model::ModelConfig& model, const EngineConfig& config,
                               int64_t available_bytes, int64_t weight_bytes);

}  // namespace deepinfer::engine
