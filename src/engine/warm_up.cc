#include "engine/warm_up.h"

#include <algorithm>
#include <numeric>

namespace deepinfer::engine {
namespace {

SamplingRow greedy_row(int32_t position) {
  SamplingRow row;
  row.params.temperature = 0.0F;
  row.position = position;
  return row;
}

BatchSequence part(int32_t slot, int32_t start, int32_t num_tokens) {
  return {.id = static_cast<SequenceId>(slot),
          .state_slot = slot,
          .start_position = start,
          .tokens = std::vector<TokenId>(static_cast<size_t>(num_tokens), 0),
          .block_table = {},
          .sampling = greedy_row(start + num_tokens)};
}

}  // namespace

Batch largest_step(const ExecutorCapacity& capacity, const SchedulerConfig& limits) {
  Batch batch;
  const int32_t num_decodes =
      std::max(0, std::min({std::min(limits.max_num_seqs, capacity.num_slots) - 1,
                            limits.max_num_batched_tokens - 1, capacity.num_blocks / 2}));
  for (int32_t slot = 0; slot < num_decodes; ++slot) {
    batch.sequences.push_back(part(slot, 0, 1));
    batch.sequences.back().block_table = {slot};
  }
  const int32_t wanted = (capacity.max_model_len + capacity.block_size - 1) / capacity.block_size;
  const int32_t num_blocks = std::min(wanted, capacity.num_blocks - num_decodes);
  const int32_t length = static_cast<int32_t>(
      std::min<int64_t>(capacity.max_model_len, int64_t{num_blocks} * capacity.block_size));
  const int32_t num_tokens = std::min(limits.max_num_batched_tokens - num_decodes, length);
  BatchSequence prompt = part(num_decodes, length - num_tokens, num_tokens);
  prompt.block_table.resize(static_cast<size_t>(num_blocks));
  std::iota(prompt.block_table.begin(), prompt.block_table.end(), num_decodes);
  batch.sequences.push_back(std::move(prompt));
  return batch;
}

}  // namespace deepinfer::engine
