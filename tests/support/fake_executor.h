#pragma once

/// An executor without a model: the next token is a function of everything the sequence has
/// written into its blocks, so a lost, stale or shared block shows as another token.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/executor.h"

namespace deepinfer::support {

/// Used by one thread. Keeps a token per cache position, and per slot a running hash of the
/// tokens it has seen, as a model keeps keys and state.
class FakeExecutor final : public engine::Executor {
 public:
  explicit FakeExecutor(const engine::ExecutorCapacity& capacity);

  const engine::ExecutorCapacity& capacity() const override { return capacity_; }
  /// kInternal when the batch breaks a rule of the engine (slot or block used by two sequences,
  /// state that does not continue, a table that is too short).
  Result<engine::StepOutput> execute(const engine::Batch& batch) override;

  /// Called with every batch before it runs; a failure is returned as the step's.
  std::function<Status(const engine::Batch&)> before_step;

  /// The token that follows `history` if `banned` must not come: what `execute` draws. Depends
  /// on `seed` only if `temperature` is not 0.
  static TokenId next_token(const std::vector<TokenId>& history, int32_t vocab_size,
                            const engine::SamplingRow& row);

 private:
  struct Slot {
    int32_t num_tokens = 0;
    uint64_t hash = 0;
  };

  Status check(const engine::Batch& batch) const;
  Status write(const engine::BatchSequence& sequence);
  std::vector<TokenId> read(const engine::BatchSequence& sequence) const;

  const engine::ExecutorCapacity capacity_;
  std::vector<TokenId> positions_;  // [num_blocks, block_size]
  std::vector<Slot> slots_;
};

/// A small capacity for tests: vocabulary of 100, EOS 0.
engine::ExecutorCapacity small_capacity(int32_t num_blocks, int32_t block_size, int32_t num_slots,
                                        int32_t max_model_len);

}  // namespace deepinfer::support
