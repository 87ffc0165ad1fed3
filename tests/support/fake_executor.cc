#include "support/fake_executor.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>

namespace deepinfer::support {
namespace {

// FNV-1a over 32-bit values.
constexpr uint64_t kHashStart = 14695981039346656037U;

uint64_t mix(uint64_t hash, uint64_t value) {
  for (int byte = 0; byte < 4; ++byte) {
    hash = (hash ^ ((value >> (8 * byte)) & 0xFF)) * 1099511628211U;
  }
  return hash;
}

uint64_t hash_of(const std::vector<TokenId>& tokens) {
  uint64_t hash = kHashStart;
  for (const TokenId token : tokens) {
    hash = mix(hash, static_cast<uint64_t>(token));
  }
  return hash;
}

Status broken(std::string what) {
  return internal_error("fake executor: " + std::move(what));
}

}  // namespace

FakeExecutor::FakeExecutor(const engine::ExecutorCapacity& capacity)
    : capacity_(capacity),
      positions_(
          static_cast<size_t>(capacity.num_blocks) * static_cast<size_t>(capacity.block_size), -1),
      slots_(static_cast<size_t>(capacity.num_slots)) {}

Result<engine::StepOutput> FakeExecutor::execute(const engine::Batch& batch) {
  if (before_step) {
    DI_TRY(before_step(batch));
  }
  DI_TRY(check(batch));
  engine::StepOutput output{.step = batch.step, .sequences = {}};
  for (const engine::BatchSequence& sequence : batch.sequences) {
    DI_TRY(write(sequence));
  }
  for (const engine::BatchSequence& sequence : batch.sequences) {
    const std::vector<TokenId> history = read(sequence);
    if (hash_of(history) != slots_[static_cast<size_t>(sequence.state_slot)].hash) {
      return broken(fmt::format("blocks and slot of sequence {} disagree", sequence.id));
    }
    if (!sequence.sampling) {
      continue;
    }
    const engine::SamplingRow& row = *sequence.sampling;
    if (row.position != static_cast<int32_t>(history.size())) {
      return broken(fmt::format("sequence {} draws position {} after {} tokens", sequence.id,
                                row.position, history.size()));
    }
    engine::SequenceOutput& result = output.sequences.emplace_back();
    result.id = sequence.id;
    result.tokens = {next_token(history, capacity_.vocab_size, row)};
    if (row.params.logprobs) {
      result.logprobs.push_back(
          {.chosen = {result.tokens[0], -static_cast<float>(row.position)}, .top = {}});
    }
    for (const TokenId token : row.probe_logits) {
      result.probe_logits.push_back(static_cast<float>(token));
    }
  }
  return output;
}

Status FakeExecutor::check(const engine::Batch& batch) const {
  std::set<int32_t> slots;
  std::set<int32_t> blocks;
  for (const engine::BatchSequence& sequence : batch.sequences) {
    if (sequence.state_slot < 0 || sequence.state_slot >= capacity_.num_slots ||
        !slots.insert(sequence.state_slot).second) {
      return broken(fmt::format("slot {} is out of range or used twice", sequence.state_slot));
    }
    if (sequence.tokens.empty()) {
      return broken(fmt::format("sequence {} has no tokens", sequence.id));
    }
    const size_t end = static_cast<size_t>(sequence.start_position) + sequence.tokens.size();
    if (sequence.block_table.size() * static_cast<size_t>(capacity_.block_size) < end) {
      return broken(fmt::format("sequence {} has {} blocks for {} tokens", sequence.id,
                                sequence.block_table.size(), end));
    }
    for (const int32_t block : sequence.block_table) {
      if (block < 0 || block >= capacity_.num_blocks || !blocks.insert(block).second) {
        return broken(fmt::format("block {} is out of range or used twice", block));
      }
    }
  }
  return Status::ok();
}

Status FakeExecutor::write(const engine::BatchSequence& sequence) {
  Slot& slot = slots_[static_cast<size_t>(sequence.state_slot)];
  if (sequence.start_position == 0) {
    slot = {.num_tokens = 0, .hash = kHashStart};
  }
  if (slot.num_tokens != sequence.start_position) {
    return broken(fmt::format("sequence {} starts at {}, its slot holds {} tokens", sequence.id,
                              sequence.start_position, slot.num_tokens));
  }
  for (const TokenId token : sequence.tokens) {
    const auto position = static_cast<size_t>(slot.num_tokens++);
    const auto block_size = static_cast<size_t>(capacity_.block_size);
    const auto block = static_cast<size_t>(sequence.block_table[position / block_size]);
    positions_[block * block_size + position % block_size] = token;
    slot.hash = mix(slot.hash, static_cast<uint64_t>(token));
  }
  return Status::ok();
}

std::vector<TokenId> FakeExecutor::read(const engine::BatchSequence& sequence) const {
  std::vector<TokenId> history;
  const auto block_size = static_cast<size_t>(capacity_.block_size);
  const size_t end = static_cast<size_t>(sequence.start_position) + sequence.tokens.size();
  for (size_t position = 0; position < end; ++position) {
    const auto block = static_cast<size_t>(sequence.block_table[position / block_size]);
    history.push_back(positions_[block * block_size + position % block_size]);
  }
  return history;
}

TokenId FakeExecutor::next_token(const std::vector<TokenId>& history, int32_t vocab_size,
                                 const engine::SamplingRow& row) {
  if (row.forced) {
    return *row.forced;
  }
  uint64_t hash = hash_of(history);
  if (row.params.temperature != 0.0F) {
    hash = mix(mix(hash, row.seed), static_cast<uint64_t>(row.position));
  }
  for (const auto& [token, count] : row.generated_counts) {
    hash = mix(mix(hash, static_cast<uint64_t>(token)), static_cast<uint64_t>(count));
  }
  auto token = static_cast<TokenId>((hash >> 20) % static_cast<uint64_t>(vocab_size));
  while (std::find(row.banned.begin(), row.banned.end(), token) != row.banned.end()) {
    token = (token + 1) % vocab_size;
  }
  return token;
}

engine::ExecutorCapacity small_capacity(int32_t num_blocks, int32_t block_size, int32_t num_slots,
                                        int32_t max_model_len) {
  return {.num_blocks = num_blocks,
          .block_size = block_size,
          .num_slots = num_slots,
          .max_model_len = max_model_len,
          .vocab_size = 100,
          .eos_token_ids = {0},
          .fingerprint = "fake"};
}

}  // namespace deepinfer::support
