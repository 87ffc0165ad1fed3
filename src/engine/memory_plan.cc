#include "engine/memory_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace deepinfer::engine {
namespace {

std::string mib(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

Status check_model_len(const model::ModelConfig& model, const EngineConfig& config) {
  if (config.max_model_len > model.max_position_embeddings) {
    return invalid_argument(fmt::format("--max-model-len: {} is beyond the model's limit of {}",
                                        config.max_model_len, model.max_position_embeddings))
        .with_param("--max-model-len");
  }
  return Status::ok();
}

Status check_block_size(const model::ModelConfig& model, const EngineConfig& config) {
  for (const int32_t ratio : model.compress_ratios) {
    if (ratio > 0 && config.block_size % ratio != 0) {
      return invalid_argument(
                 fmt::format("--block-size: {} is not a multiple of the compress ratio {}",
                             config.block_size, ratio))
          .with_param("--block-size");
    }
  }
  return Status::ok();
}

int64_t blocks_for(int64_t num_tokens, int32_t block_size) {
  return (num_tokens + block_size - 1) / block_size;
}

}  // namespace

Result<MemoryPlan> plan_memory(const model::ModelConfig& model, const EngineConfig& config,
                               int64_t available_bytes, int64_t weight_bytes) {
  DI_TRY(check_model_len(model, config));
  DI_TRY(check_block_size(model, config));
  MemoryPlan plan;
  plan.weight_bytes = weight_bytes;
  plan.wanted_model_len =
      config.max_model_len > 0 ? config.max_model_len : model.max_position_embeddings;
  plan.shape.block_size = config.block_size;
  plan.shape.num_slots = config.scheduler.max_num_seqs;
  plan.shape.max_rollback = config.max_rollback;
  plan.bytes_per_block = model::kv_bytes_per_block(model, config.block_size);
  plan.bytes_per_slot = model::kv_bytes_per_slot(model, config.max_rollback);
  if (config.kv_cache_memory_bytes > 0) {
    plan.cache_budget = config.kv_cache_memory_bytes;
  } else {
    plan.available = available_bytes;
    plan.cache_budget = std::min(available_bytes / 2, kDefaultCacheLimit);
  }

  const int64_t slot_bytes = plan.shape.num_slots * plan.bytes_per_slot;
  const int64_t block_budget = plan.cache_budget - slot_bytes;
  const int64_t affordable = block_budget / std::max<int64_t>(plan.bytes_per_block, 1);
  if (block_budget <= 0 || affordable < 1) {
    return resource_exhausted(fmt::format(
        "the caches need {} for the state of {} sequences and {} for one block, but may take {}: "
        "lower --max-num-seqs or raise --kv-cache-memory-bytes",
        mib(slot_bytes), plan.shape.num_slots, mib(plan.bytes_per_block), mib(plan.cache_budget)));
  }
  const int64_t per_sequence = blocks_for(plan.wanted_model_len, config.block_size);
  const int64_t useful = per_sequence * plan.shape.num_slots;
  const int64_t num_blocks = std::min<int64_t>({affordable, useful, INT32_MAX});
  if (num_blocks < per_sequence && config.max_model_len > 0) {
    return resource_exhausted(fmt::format(
        "--max-model-len {} needs {} blocks ({}), but the caches have room for {} ({}): lower "
        "--max-model-len or --max-num-seqs, or raise --kv-cache-memory-bytes",
        config.max_model_len, per_sequence, mib(per_sequence * plan.bytes_per_block), num_blocks,
        mib(num_blocks * plan.bytes_per_block)));
  }
  plan.shape.num_blocks = static_cast<int32_t>(num_blocks);
  plan.max_model_len = static_cast<int32_t>(
      std::min<int64_t>(plan.wanted_model_len, num_blocks * config.block_size));
  return plan;
}

std::string MemoryPlan::describe() const {
  std::string text = fmt::format(
      "weights       {}\n"
      "cache budget  {}{}\n"
      "state slots   {} x {} = {}\n"
      "cache blocks  {} x {} = {} ({} tokens of {} per block)\n"
      "longest sequence {} tokens",
      mib(weight_bytes), mib(cache_budget),
      available > 0 ? fmt::format(" (of {} available)", mib(available)) : " (configured)",
      shape.num_slots, mib(bytes_per_slot), mib(shape.num_slots * bytes_per_slot), shape.num_blocks,
      mib(bytes_per_block), mib(shape.num_blocks * bytes_per_block),
      int64_t{shape.num_blocks} * shape.block_size, shape.block_size, max_model_len);
  if (max_model_len < wanted_model_len) {
    text += fmt::format(" (the model allows {}; raise --kv-cache-memory-bytes for more)",
                        wanted_model_len);
  }
  return text;
}

}  // namespace deepinfer::engine
