#pragma once

/// One rank's cache memory: paged blocks for what grows with length, one slot per sequence
/// for what does not (model spec §8).

#include <cstdint>
#include <memory>
#include <vector>

#include "deepinfer/status.h"
#include "device/device.h"
#include "device/tensor.h"
#include "model/model_config.h"

namespace deepinfer::model {

/// Sizes of a cache; all fixed at start.
struct KvCacheShape {
  int32_t num_blocks = 0;
  /// Token positions per block; a multiple of every compress ratio.
  int32_t block_size = 64;
  /// Sequences that can hold state at once.
  int32_t num_slots = 0;
  /// Tokens a sequence may be rolled back: every ring keeps that many rows more.
  int32_t max_rollback = 8;
};

/// Bytes of one block and of one slot, for the memory plan.
int64_t kv_bytes_per_block(const ModelConfig& config, int32_t block_size);
int64_t kv_bytes_per_slot(const ModelConfig& config, int32_t max_rollback);

/// The cache arrays. A block id means the same positions in every array; so does a slot.
/// Rings are indexed by absolute position modulo their size, so a rollback is a smaller
/// `start_position` in the next step: nothing has to be erased, because positions beyond it are
/// rewritten before they are read.
class KvCache {
 public:
  static Result<std::unique_ptr<KvCache>> create(const ModelConfig& config,
                                                 const KvCacheShape& shape, device::Device& device);

  const KvCacheShape& shape() const { return shape_; }
  int64_t bytes() const;

  /// Positions kept by the sliding-window rings: window - 1 + max_rollback + 1.
  int32_t window_ring() const { return window_ring_; }
  /// Positions kept of un-pooled compressor rows: ratio - 1 + max_rollback + 1.
  int32_t open_ring() const { return open_ring_; }

  /// Window keys of a layer: [num_slots, window_ring, head_dim].
  float* window(int32_t layer);
  /// Compressed entries of a kv-source layer: [num_blocks, block_size / ratio, head_dim].
  float* entries(int32_t kv_source);
  /// Index keys of a kv-source layer: [num_blocks, block_size / ratio, index_head_dim].
  float* index_keys(int32_t kv_source);
  /// Un-pooled values of a ratio-2 source: [num_slots, open_ring, head_dim].
  float* open_values(int32_t kv_source);
  /// Un-pooled gates of a ratio-2 source: [num_slots, open_ring, head_dim].
  float* open_gates(int32_t kv_source);
  /// Recent compressed token ids of a slot for Engram, in host memory: [token_ring()], indexed
  /// by position modulo the size.
  int32_t* recent_tokens(int32_t slot);
  int32_t token_ring() const { return token_ring_; }

 private:
  struct Source {
    device::Tensor<float> entries, index_keys, open_values, open_gates;
  };

  KvCache() = default;
  Source& source(int32_t layer);

  KvCacheShape shape_;
  int32_t window_ring_ = 0;
  int32_t open_ring_ = 0;
  int32_t token_ring_ = 0;
  std::vector<device::Tensor<float>> window_;  // by layer
  std::vector<Source> sources_;                // by position in kv_source_layer_ids
  std::vector<int32_t> source_of_layer_;       // layer -> index into sources_, or -1
  std::vector<int32_t> recent_tokens_;
};

}  // namespace deepinfer::model
