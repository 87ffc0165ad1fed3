#include "engine/warm_up.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace deepinfer::engine {
namespace {

SamplingRow greedy_row(int32_t position) {
  SamplingRow row;
  row.params.temperature = 0.0F;
  row.position = position;
  return row;
}

// Adds up to `room` to the elements from the last to the first, none of which exceeds `limit(i)`.
template <typename Limit>
void fill_from_behind(std::vector<int32_t>& values, int32_t room, const Limit& limit) {
  for (size_t i = values.size(); i-- > 0;) {
    const int32_t more = std::min(room, limit(i) - values[i]);
    values[i] += more;
    room -= more;
  }
}

// `num_sequences` sequences with at least a block and a token each; the last ones are as long and
// bring as many tokens as possible.
Batch step_of(int32_t num_sequences, const ExecutorCapacity& capacity, int32_t max_tokens) {
  const int32_t block_size = capacity.block_size;
  const int32_t most_blocks = (capacity.max_model_len + block_size - 1) / block_size;
  std::vector<int32_t> blocks(static_cast<size_t>(num_sequences), 1);
  fill_from_behind(blocks, capacity.num_blocks - num_sequences,
                   [&](size_t) { return most_blocks; });
  const auto length = [&](size_t i) {
    return static_cast<int32_t>(
        std::min<int64_t>(int64_t{blocks[i]} * block_size, capacity.max_model_len));
  };
  std::vector<int32_t> tokens(static_cast<size_t>(num_sequences), 1);
  fill_from_behind(tokens, max_tokens - num_sequences, length);

  Batch batch;
  int32_t next_block = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    batch.sequences.push_back({.id = i,
                               .state_slot = static_cast<int32_t>(i),
                               .start_position = length(i) - tokens[i],
                               .tokens = std::vector<TokenId>(static_cast<size_t>(tokens[i]), 0),
                               .block_table = std::vector<int32_t>(static_cast<size_t>(blocks[i])),
                               .sampling = greedy_row(length(i))});
    auto& table = batch.sequences.back().block_table;
    std::iota(table.begin(), table.end(), next_block);
    next_block += blocks[i];
  }
  return batch;
}

}  // namespace

std::vector<Batch> largest_steps(const ExecutorCapacity& capacity, const SchedulerConfig& limits) {
  const int32_t max_tokens = limits.max_num_batched_tokens;
  const int32_t most =
      std::min({limits.max_num_seqs, capacity.num_slots, capacity.num_blocks, max_tokens});
  const int32_t fewest =
      std::min((max_tokens + capacity.max_model_len - 1) / capacity.max_model_len, most);
  std::vector<Batch> steps = {step_of(fewest, capacity, max_tokens)};
  if (most > fewest) {
    steps.push_back(step_of(most, capacity, max_tokens));
  }
  return steps;
}

}  // namespace deepinfer::engine
