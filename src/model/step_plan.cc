#include "model/step_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace deepinfer::model {
namespace {

Status bad_step(const std::string& why) {
  return invalid_argument("step: " + why);
}

Status check_sequence(const SequenceInput& sequence, const ModelConfig& config,
                      const KvCacheShape& shape) {
  if (sequence.state_slot < 0 || sequence.state_slot >= shape.num_slots) {
    return bad_step(
        fmt::format("slot {} is not in 0..{}", sequence.state_slot, shape.num_slots - 1));
  }
  const int64_t end = int64_t{sequence.start_position} + sequence.num_tokens;
  if (sequence.start_position < 0 || sequence.num_tokens < 1 ||
      end > config.max_position_embeddings) {
    return bad_step(fmt::format("slot {}: {} tokens from position {} do not fit in 0..{}",
                                sequence.state_slot, sequence.num_tokens, sequence.start_position,
                                config.max_position_embeddings - 1));
  }
  const int64_t blocks = (end + shape.block_size - 1) / shape.block_size;
  if (static_cast<int64_t>(sequence.block_table.size()) < blocks) {
    return bad_step(fmt::format("slot {}: {} positions need {} blocks, got {}", sequence.state_slot,
                                end, blocks, sequence.block_table.size()));
  }
  for (const int32_t block : sequence.block_table) {
    if (block < 0 || block >= shape.num_blocks) {
      return bad_step(fmt::format("slot {}: block {} is not in 0..{}", sequence.state_slot, block,
                                  shape.num_blocks - 1));
    }
  }
  return Status::ok();
}

}  // namespace

Status check_input(const ForwardInput& input, const ModelConfig& config,
                   const KvCacheShape& shape) {
  std::vector<int32_t> slots;
  int64_t num_tokens = 0;
  for (const SequenceInput& sequence : input.sequences) {
    DI_TRY(check_sequence(sequence, config, shape));
    slots.push_back(sequence.state_slot);
    num_tokens += sequence.num_tokens;
  }
  std::sort(slots.begin(), slots.end());
  const auto twice = std::adjacent_find(slots.begin(), slots.end());
  if (twice != slots.end()) {
    return bad_step(fmt::format("slot {} is used twice", *twice));
  }
  if (num_tokens != static_cast<int64_t>(input.tokens.size())) {
    return bad_step(fmt::format("its sequences have {} tokens, but {} were given", num_tokens,
                                input.tokens.size()));
  }
  for (const TokenId id : input.tokens) {
    if (id < 0 || id >= config.vocab_size) {
      return bad_step(fmt::format("token {} is not in 0..{}", id, config.vocab_size - 1));
    }
  }
  int64_t previous = -1;
  for (const int32_t row : input.logit_rows) {
    if (row <= previous || row >= num_tokens) {
      return bad_step(fmt::format("logit row {} after {}: expected ascending rows below {}", row,
                                  previous, num_tokens));
    }
    previous = row;
  }
  return Status::ok();
}

void RingPlan::build(const kernels::StepView& step, int32_t ring_size) {
  runs_.clear();
  rows_.host.clear();
  for (int32_t s = 0; s < step.num_sequences; ++s) {
    const kernels::SequenceView& sequence = step.sequences[s];
    const int32_t skipped = std::max(0, sequence.num_tokens - ring_size);
    const int64_t src_row = sequence.token_begin + skipped;
    if (runs_.empty() || runs_.back().src_row + runs_.back().count != src_row) {
      runs_.push_back({src_row, rows_.size(), 0});
    }
    for (int32_t i = skipped; i < sequence.num_tokens; ++i) {
      const int64_t position = sequence.start_position + i;
      rows_.host.push_back(int64_t{sequence.state_slot} * ring_size + position % ring_size);
      ++runs_.back().count;
    }
  }
}

void RingPlan::scatter(const Graph& graph, const float* src, int64_t width, float* ring) const {
  for (const Run& run : runs_) {
    graph.ops().scatter_rows(graph.context(), {.src = src + run.src_row * width,
                                               .src_stride = width,
                                               .indices = rows_.data() + run.first_index,
                                               .num_rows = run.count,
                                               .width = width,
                                               .dst = ring});
  }
}

void RatioPlan::build(const kernels::StepView& step, int32_t ratio, int32_t block_size,
                      int32_t open_ring) {
  entries_per_block = block_size / ratio;
  max_visible = 0;
  max_open_rows = int64_t{step.num_sequences} * (ratio - 1);
  max_group_rows = step.num_tokens + max_open_rows;
  max_entries = max_group_rows / ratio;
  for (auto* rows : {&entry_rows.host, &group_rows.host, &open_rows.host}) {
    rows->clear();
  }
  entry_positions.host.clear();
  visible.host.clear();
  for (int32_t s = 0; s < step.num_sequences; ++s) {
    const kernels::SequenceView& sequence = step.sequences[s];
    const int32_t start = sequence.start_position;
    const int32_t end = start + sequence.num_tokens;
    for (int32_t position = start; position < end; ++position) {
      visible.host.push_back((position + 1) / ratio);
    }
    max_visible = std::max(max_visible, end / ratio);
    for (int32_t entry = start / ratio; entry < end / ratio; ++entry) {
      entry_positions.host.push_back(entry * ratio);
      const int64_t block = sequence.block_table[entry / entries_per_block];
      entry_rows.host.push_back(block * entries_per_block + entry % entries_per_block);
      for (int32_t p = entry * ratio; p < (entry + 1) * ratio; ++p) {
        if (p >= start) {
          group_rows.host.push_back(sequence.token_begin + p - start);
        } else {
          group_rows.host.push_back(step.num_tokens + open_rows.size());
          open_rows.host.push_back(int64_t{sequence.state_slot} * open_ring + p % open_ring);
        }
      }
    }
  }
}

Status RatioPlan::upload(device::Device& device) {
  DI_TRY(entry_positions.upload(device, max_entries));
  DI_TRY(entry_rows.upload(device, max_entries));
  DI_TRY(group_rows.upload(device, max_group_rows));
  DI_TRY(open_rows.upload(device, max_open_rows));
  return visible.upload(device);
}

void StepPlan::lay_out(const ForwardInput& input) {
  ids_.host.assign(input.tokens.begin(), input.tokens.end());
  positions_.host.clear();
  token_sequence_.host.clear();
  block_tables_.host.clear();
  sequences_.host.clear();
  for (const SequenceInput& sequence : input.sequences) {
    const auto index = static_cast<int32_t>(sequences_.host.size());
    sequences_.host.push_back({.state_slot = sequence.state_slot,
                               .token_begin = static_cast<int32_t>(positions_.host.size()),
                               .num_tokens = sequence.num_tokens,
                               .start_position = sequence.start_position,
                               .block_table = sequence.block_table.data()});
    for (int32_t i = 0; i < sequence.num_tokens; ++i) {
      positions_.host.push_back(sequence.start_position + i);
      token_sequence_.host.push_back(index);
    }
    block_tables_.host.insert(block_tables_.host.end(), sequence.block_table.begin(),
                              sequence.block_table.end());
  }
  host_view_ = {.sequences = sequences_.host.data(),
                .num_sequences = static_cast<int32_t>(sequences_.host.size()),
                .num_tokens = static_cast<int32_t>(positions_.host.size()),
                .token_sequence = token_sequence_.host.data(),
                .positions = positions_.host.data()};
}

Status StepPlan::upload_sequences(const ForwardInput& input, device::Device& device) {
  DI_TRY(ids_.upload(device));
  DI_TRY(positions_.upload(device));
  DI_TRY(token_sequence_.upload(device));
  DI_TRY(block_tables_.upload(device));
  device_sequences_.host = sequences_.host;
  int64_t offset = 0;
  for (size_t i = 0; i < input.sequences.size(); ++i) {
    device_sequences_.host[i].block_table = block_tables_.data() + offset;
    offset += static_cast<int64_t>(input.sequences[i].block_table.size());
  }
  DI_TRY(device_sequences_.upload(device));
  view_ = {.sequences = device_sequences_.data(),
           .num_sequences = host_view_.num_sequences,
           .num_tokens = host_view_.num_tokens,
           .token_sequence = token_sequence_.data(),
           .positions = positions_.data()};
  return Status::ok();
}

Status StepPlan::build(const ForwardInput& input, const ModelConfig& config, const KvCache& cache,
                       device::Device& device) {
  lay_out(input);
  DI_TRY(upload_sequences(input, device));
  window_.build(host_view_, cache.window_ring());
  DI_TRY(window_.upload(device, host_view_.num_tokens));
  open_.build(host_view_, cache.open_ring());
  DI_TRY(open_.upload(device, host_view_.num_tokens));
  for (int32_t ratio = 1; ratio < static_cast<int32_t>(ratios_.size()); ++ratio) {
    const bool used = std::find(config.compress_ratios.begin(), config.compress_ratios.end(),
                                ratio) != config.compress_ratios.end();
    if (used) {
      RatioPlan& plan = ratios_[static_cast<size_t>(ratio)];
      plan.build(host_view_, ratio, cache.shape().block_size, cache.open_ring());
      DI_TRY(plan.upload(device));
    }
  }
  return Status::ok();
}

Result<std::span<const StepTile>> StepPlan::cut(int64_t rows, device::Device& device,
                                                std::vector<StepTile>& tiles) const {
  const auto num_tiles = static_cast<size_t>((num_tokens() + rows - 1) / rows);
  tiles.resize(std::max(tiles.size(), num_tiles));
  for (size_t i = 0; i < num_tiles; ++i) {
    StepTile& tile = tiles[i];
    tile.begin = static_cast<int64_t>(i) * rows;
    const int64_t end = std::min(tile.begin + rows, num_tokens());
    tile.sequences.host.clear();
    tile.token_sequence.host.clear();
    for (const kernels::SequenceView& sequence : device_sequences_.host) {
      const int64_t first = std::max<int64_t>(sequence.token_begin, tile.begin);
      const int64_t last = std::min<int64_t>(sequence.token_begin + sequence.num_tokens, end);
      if (first >= last) {
        continue;
      }
      kernels::SequenceView part = sequence;
      part.token_begin = static_cast<int32_t>(first - tile.begin);
      part.num_tokens = static_cast<int32_t>(last - first);
      part.start_position += static_cast<int32_t>(first - sequence.token_begin);
      tile.token_sequence.host.insert(tile.token_sequence.host.end(),
                                      static_cast<size_t>(part.num_tokens),
                                      static_cast<int32_t>(tile.sequences.size()));
      tile.sequences.host.push_back(part);
    }
    DI_TRY(tile.sequences.upload(device, num_tokens()));
    DI_TRY(tile.token_sequence.upload(device, num_tokens()));
    tile.view = {.sequences = tile.sequences.data(),
                 .num_sequences = static_cast<int32_t>(tile.sequences.size()),
                 .num_tokens = static_cast<int32_t>(end - tile.begin),
                 .token_sequence = tile.token_sequence.data(),
                 .positions = positions() + tile.begin};
  }
  return std::span<const StepTile>(tiles.data(), num_tiles);
}

}  // namespace deepinfer::model
