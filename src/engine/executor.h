#pragma once

/// The scheduler's view of an engine: it runs steps. `ModelRunner` is the real one; tests use
/// a scripted one, the planner one with a virtual clock.

#include <cstdint>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "engine/batch.h"

namespace deepinfer::engine {

/// Fixed limits of an executor.
struct ExecutorCapacity {
  int32_t num_blocks = 0;
  int32_t block_size = 0;
  int32_t num_slots = 0;
  int32_t max_model_len = 0;
  int32_t vocab_size = 0;
  std::vector<TokenId> eos_token_ids;
  /// Model, kernels and version: whatever can change output.
  std::string fingerprint;
};

/// Runs steps in order. Used by its rank's thread only.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const ExecutorCapacity& capacity() const = 0;
  /// A failure cannot be repaired in place: the engine ends.
  virtual Result<StepOutput> execute(const Batch& batch) = 0;
};

}  // namespace deepinfer::engine
