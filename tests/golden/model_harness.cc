#include "tests/golden/model_harness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace deepinfer::golden {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result.has_value()) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace

int32_t argmax(std::span<const float> values) {
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::vector<std::string> runnable_variants() {
  std::vector<std::string> names;
  for (const kernels::Variant& variant : kernels::cpu_variants()) {
    if (variant.supported) {
      names.emplace_back(variant.name);
    } else {
      std::printf("skipped variant %s: this machine lacks %s\n", std::string(variant.name).c_str(),
                  std::string(variant.missing).c_str());
    }
  }
  return names;
}

ModelHarness::ModelHarness(const std::string& dir, const std::string& variant, int32_t num_slots,
                           int32_t num_threads)
    : device_(must(device::make_cpu_device(variant, num_threads))),
      model_(must(model::Model::load(dir, dir, *device_))),
      num_slots_(num_slots) {
  const model::KvCacheShape shape = {.num_blocks = num_slots * kMaxTokens / kBlockSize,
                                     .block_size = kBlockSize,
                                     .num_slots = num_slots,
                                     .max_rollback = kMaxRollback};
  cache_ = must(model::KvCache::create(model_->config(), shape, *device_));
}

model::SequenceInput ModelHarness::sequence(const Piece& piece) const {
  model::SequenceInput sequence = {.state_slot = piece.slot,
                                   .start_position = piece.start_position,
                                   .num_tokens = static_cast<int32_t>(piece.tokens.size())};
  // Neighbouring blocks belong to different sequences, and every other pair is swapped.
  const int32_t end = piece.start_position + sequence.num_tokens;
  for (int32_t i = 0; i * kBlockSize < end; ++i) {
    sequence.block_table.push_back((i ^ 1) * num_slots_ + piece.slot);
  }
  return sequence;
}

std::vector<std::vector<float>> ModelHarness::forward(const model::ForwardInput& input) {
  const auto vocab = static_cast<size_t>(vocab_size());
  std::vector<float> logits(input.logit_rows.size() * vocab);
  const Status status = model_->forward(input, *cache_, logits.data());
  if (!status.is_ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    std::abort();
  }
  std::vector<std::vector<float>> rows;
  for (size_t i = 0; i < input.logit_rows.size(); ++i) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(i * vocab);
    rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(vocab));
  }
  return rows;
}

std::vector<std::vector<float>> ModelHarness::step(const std::vector<Piece>& pieces) {
  model::ForwardInput input;
  for (const Piece& piece : pieces) {
    input.sequences.push_back(sequence(piece));
    input.tokens.insert(input.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    input.logit_rows.push_back(static_cast<int32_t>(input.tokens.size()) - 1);
  }
  return forward(input);
}

std::vector<std::vector<float>> ModelHarness::run(int32_t slot, int32_t start_position,
                                                  std::span<const int32_t> tokens, int32_t chunk) {
  const size_t step_size = chunk == 0 ? tokens.size() : static_cast<size_t>(chunk);
  std::vector<std::vector<float>> rows;
  for (size_t done = 0; done < tokens.size(); done += step_size) {
    const auto part = tokens.subspan(done, std::min(step_size, tokens.size() - done));
    model::ForwardInput input;
    input.tokens.assign(part.begin(), part.end());
    input.sequences.push_back(
        sequence({.slot = slot,
                  .start_position = start_position + static_cast<int32_t>(done),
                  .tokens = input.tokens}));
    for (size_t row = 0; row < part.size(); ++row) {
      input.logit_rows.push_back(static_cast<int32_t>(row));
    }
    for (std::vector<float>& logits : forward(input)) {
      rows.push_back(std::move(logits));
    }
  }
  return rows;
}

std::vector<int32_t> ModelHarness::decode(int32_t slot, int32_t position, std::vector<float> logits,
                                          int32_t count) {
  std::vector<int32_t> tokens = {argmax(logits)};
  while (static_cast<int32_t>(tokens.size()) < count) {
    logits = step({{.slot = slot, .start_position = position++, .tokens = {tokens.back()}}})[0];
    tokens.push_back(argmax(logits));
  }
  return tokens;
}

void RecordingObserver::on_experts(int32_t layer, std::span<const int32_t> ids,
                                   std::span<const float> weights) {
  for (size_t i = 0; i < ids.size(); i += static_cast<size_t>(top_k_)) {
    const auto row_ids = ids.subspan(i, static_cast<size_t>(top_k_));
    const auto row_weights = weights.subspan(i, static_cast<size_t>(top_k_));
    expert_ids[layer].emplace_back(row_ids.begin(), row_ids.end());
    expert_weights[layer].emplace_back(row_weights.begin(), row_weights.end());
  }
}

void RecordingObserver::on_selection(int32_t layer, std::span<const int32_t> entries,
                                     int64_t stride, std::span<const int32_t> counts) {
  for (size_t row = 0; row < counts.size(); ++row) {
    const auto part =
        entries.subspan(row * static_cast<size_t>(stride), static_cast<size_t>(counts[row]));
    selected[layer].emplace_back(part.begin(), part.end());
  }
}

void RecordingObserver::on_engram_rows(int32_t layer, std::span<const int64_t> rows) {
  engram_rows[layer].assign(rows.begin(), rows.end());
}

void RecordingObserver::on_streams(int32_t layer, std::span<const float> values) {
  streams[layer].assign(values.begin(), values.end());
}

}  // namespace deepinfer::golden
