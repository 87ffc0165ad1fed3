#pragma once

/// Runs a model step by step the way an engine would, with blocks scattered over the cache.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace deepinfer::golden {

/// What one sequence contributes to a step.
struct Piece {
  int32_t slot = 0;
  int32_t start_position = 0;
  std::vector<int32_t> tokens;
};

/// A model, its cache and device. Failures abort the test program with their message.
class ModelHarness {
 public:
  static constexpr int32_t kMaxTokens = 512;
  static constexpr int32_t kBlockSize = 8;
  static constexpr int32_t kMaxRollback = 8;

  ModelHarness(const std::string& dir, const std::string& variant, int32_t num_slots,
               int32_t num_threads = 1);

  model::Model& model() { return *model_; }
  model::KvCache& cache() { return *cache_; }
  /// The piece with its blocks.
  model::SequenceInput sequence(const Piece& piece) const;
  int32_t vocab_size() const { return model_->config().vocab_size; }

  /// Runs a step and returns the logits of the last row of each piece, [pieces][vocab].
  std::vector<std::vector<float>> step(const std::vector<Piece>& pieces);
  /// Runs `tokens` from `start_position` in chunks of `chunk` (0 = whole) and returns the
  /// logits of every row.
  std::vector<std::vector<float>> run(int32_t slot, int32_t start_position,
                                      std::span<const int32_t> tokens, int32_t chunk);
  /// `count` tokens of greedy decoding from `logits` of the token before `position`.
  std::vector<int32_t> decode(int32_t slot, int32_t position, std::vector<float> logits,
                              int32_t count);

 private:
  std::vector<std::vector<float>> forward(const model::ForwardInput& input);

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<model::KvCache> cache_;
  int32_t num_slots_ = 0;
};

/// Smallest id among the largest values.
int32_t argmax(std::span<const float> values);

/// Supported kernel variants; prints the skipped ones.
std::vector<std::string> runnable_variants();

/// Keeps what a forward pass shows.
class RecordingObserver final : public model::ForwardObserver {
 public:
  explicit RecordingObserver(int32_t top_k) : top_k_(top_k) {}

  void on_experts(int32_t layer, std::span<const int32_t> ids,
                  std::span<const float> weights) override;
  void on_selection(int32_t layer, std::span<const int32_t> selected, int64_t stride,
                    std::span<const int32_t> counts) override;
  void on_engram_rows(int32_t layer, std::span<const int64_t> rows) override;
  void on_streams(int32_t layer, std::span<const float> streams) override;

  /// Rows of all steps so far, one after the other.
  std::map<int32_t, std::vector<std::vector<int32_t>>> expert_ids;
  std::map<int32_t, std::vector<std::vector<float>>> expert_weights;
  std::map<int32_t, std::vector<std::vector<int32_t>>> selected;
  /// Of the latest step.
  std::map<int32_t, std::vector<int64_t>> engram_rows;
  std::map<int32_t, std::vector<float>> streams;

 private:
  int32_t top_k_;
};

}  // namespace deepinfer::golden
