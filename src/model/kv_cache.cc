#include "model/kv_cache.h"

#include <spdlog/fmt/fmt.h>

#include "base/check.h"

namespace deepinfer::model {
namespace {

/// Ring sizes: what a query looks back on besides itself, plus the positions a rollback may
/// take away, plus the row being written.
int32_t window_ring_size(const ModelConfig& config, int32_t max_rollback) {
  return config.sliding_window - 1 + max_rollback + 1;
}

int32_t open_ring_size(const ModelConfig& config, int32_t max_rollback) {
  return config.max_ratio() - 1 + max_rollback + 1;
}

int32_t token_ring_size(const ModelConfig& config, int32_t max_rollback) {
  return config.engram_layer_ids.empty() ? 0 : config.engram_max_ngram_size - 1 + max_rollback + 1;
}

Status check_shape(const ModelConfig& config, const KvCacheShape& shape) {
  if (shape.num_blocks < 0 || shape.num_slots < 1 || shape.max_rollback < 0 ||
      shape.max_rollback > 1 << 16) {
    return invalid_argument(
        fmt::format("cache shape: {} blocks, {} slots, rollback {} are not usable",
                    shape.num_blocks, shape.num_slots, shape.max_rollback));
  }
  for (const int32_t source : config.kv_source_layer_ids) {
    const int32_t ratio = config.ratio(source);
    if (shape.block_size < ratio || shape.block_size % ratio != 0) {
      return invalid_argument(
          fmt::format("block size: expected a multiple of {}, got {}", ratio, shape.block_size));
    }
  }
  return shape.block_size > 0 ? Status::ok() : invalid_argument("block size: expected at least 1");
}

}  // namespace

int64_t kv_bytes_per_block(const ModelConfig& config, int32_t block_size) {
  int64_t floats = 0;
  for (const int32_t source : config.kv_source_layer_ids) {
    floats +=
        int64_t{block_size / config.ratio(source)} * (config.head_dim + config.index_head_dim);
  }
  return floats * static_cast<int64_t>(sizeof(float));
}

int64_t kv_bytes_per_slot(const ModelConfig& config, int32_t max_rollback) {
  int64_t floats =
      int64_t{config.num_hidden_layers} * window_ring_size(config, max_rollback) * config.head_dim;
  for (const int32_t source : config.kv_source_layer_ids) {
    if (config.ratio(source) > 1) {
      floats += int64_t{2} * open_ring_size(config, max_rollback) * config.head_dim;
    }
  }
  return floats * static_cast<int64_t>(sizeof(float)) +
         token_ring_size(config, max_rollback) * static_cast<int64_t>(sizeof(int32_t));
}

Result<std::unique_ptr<KvCache>> KvCache::create(const ModelConfig& config,
                                                 const KvCacheShape& shape,
                                                 device::Device& device) {
  DI_TRY(check_shape(config, shape));
  std::unique_ptr<KvCache> cache(new KvCache());
  cache->shape_ = shape;
  cache->window_ring_ = window_ring_size(config, shape.max_rollback);
  cache->open_ring_ = open_ring_size(config, shape.max_rollback);
  cache->token_ring_ = token_ring_size(config, shape.max_rollback);
  cache->source_of_layer_.assign(static_cast<size_t>(config.num_hidden_layers), -1);
  const int64_t slots = shape.num_slots;
  for (int32_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    DI_ASSIGN(auto window,
              device::Tensor<float>::zeros(device, slots * cache->window_ring_ * config.head_dim));
    cache->window_.push_back(std::move(window));
  }
  for (const int32_t layer : config.kv_source_layer_ids) {
    const int64_t entries = int64_t{shape.num_blocks} * (shape.block_size / config.ratio(layer));
    Source source;
    DI_TRY(source.entries.ensure(device, entries * config.head_dim));
    DI_TRY(source.index_keys.ensure(device, entries * config.index_head_dim));
    if (config.ratio(layer) > 1) {
      const int64_t open = slots * cache->open_ring_ * config.head_dim;
      DI_TRY(source.open_values.ensure(device, open));
      DI_TRY(source.open_gates.ensure(device, open));
    }
    cache->source_of_layer_[static_cast<size_t>(layer)] =
        static_cast<int32_t>(cache->sources_.size());
    cache->sources_.push_back(std::move(source));
  }
  cache->recent_tokens_.assign(static_cast<size_t>(slots * cache->token_ring_), 0);
  return cache;
}

int64_t KvCache::bytes() const {
  int64_t total = static_cast<int64_t>(recent_tokens_.size() * sizeof(int32_t));
  for (const auto& window : window_) {
    total += window.bytes();
  }
  for (const Source& source : sources_) {
    total += source.entries.bytes() + source.index_keys.bytes() + source.open_values.bytes() +
             source.open_gates.bytes();
  }
  return total;
}

KvCache::Source& KvCache::source(int32_t layer) {
  const int32_t index = source_of_layer_.at(static_cast<size_t>(layer));
  DI_CHECK(index >= 0);
  return sources_[static_cast<size_t>(index)];
}

float* KvCache::window(int32_t layer) {
  return window_.at(static_cast<size_t>(layer)).data();
}

float* KvCache::entries(int32_t kv_source) {
  return source(kv_source).entries.data();
}

float* KvCache::index_keys(int32_t kv_source) {
  return source(kv_source).index_keys.data();
}

float* KvCache::open_values(int32_t kv_source) {
  return source(kv_source).open_values.data();
}

float* KvCache::open_gates(int32_t kv_source) {
  return source(kv_source).open_gates.data();
}

int32_t* KvCache::recent_tokens(int32_t slot) {
  DI_CHECK(slot >= 0 && slot < shape_.num_slots);
  return recent_tokens_.data() + int64_t{slot} * token_ring_;
}

}  // namespace deepinfer::model
