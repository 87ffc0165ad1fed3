#include "model/engram_hash.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "model/pcg64.h"

namespace deepinfer::model {
namespace {

/// Trial division: the numbers are small and few.
bool is_prime(int64_t n) {
  if (n < 4 || n % 2 == 0) {
    return n == 2 || n == 3;
  }
  for (int64_t d = 3; d * d <= n; d += 2) {
    if (n % d == 0) {
      return false;
    }
  }
  return true;
}

/// Where each column's rows begin: the sums of the primes before it.
std::vector<int64_t> column_offsets(const std::vector<int64_t>& primes) {
  std::vector<int64_t> offsets(primes.size());
  std::exclusive_scan(primes.begin(), primes.end(), offsets.begin(), int64_t{0});
  return offsets;
}

Status check_tables(const ModelConfig& config, const std::vector<std::vector<int64_t>>& primes) {
  for (size_t i = 0; i < primes.size(); ++i) {
    const int64_t rows = std::accumulate(primes[i].begin(), primes[i].end(), int64_t{0});
    if (rows != config.engram_num_embeddings[i]) {
      return failed_precondition(
          fmt::format("config.json: engram_num_embeddings: layer {}: expected {} rows (the sum of "
                      "its primes), found {}",
                      config.engram_layer_ids[i], rows, config.engram_num_embeddings[i]));
    }
  }
  return Status::ok();
}

}  // namespace

std::vector<std::vector<int64_t>> engram_primes(int32_t num_layers, int32_t max_ngram,
                                                int32_t num_heads, int64_t search_start) {
  std::unordered_set<int64_t> used;
  std::vector<std::vector<int64_t>> primes(static_cast<size_t>(num_layers));
  for (std::vector<int64_t>& columns : primes) {
    for (int32_t size = 2; size <= max_ngram; ++size) {
      int64_t candidate = search_start;
      for (int32_t head = 0; head < num_heads; ++head) {
        while (used.count(candidate) > 0 || !is_prime(candidate)) {
          ++candidate;
        }
        used.insert(candidate);
        columns.push_back(candidate);
      }
    }
  }
  return primes;
}

std::vector<int64_t> engram_multipliers(int32_t layer, int32_t count, int32_t compressed_vocab) {
  const int64_t bound =
      std::max<int64_t>(1, std::numeric_limits<int64_t>::max() / compressed_vocab / 2);
  DI_CHECK(bound > int64_t{1} << 32);
  Pcg64 random(10007U * static_cast<uint32_t>(layer));
  std::vector<int64_t> multipliers;
  multipliers.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    multipliers.push_back(2 * static_cast<int64_t>(random.below(static_cast<uint64_t>(bound))) + 1);
  }
  return multipliers;
}

Result<EngramHash> EngramHash::create(const ModelConfig& config, TokenMap token_map) {
  if (token_map.num_compressed != config.engram_compressed_vocab_size) {
    return failed_precondition(fmt::format(
        "tokenizer.json: its compressed vocabulary has {} entries, but config.json's "
        "engram_compressed_vocab_size is {}; tokenizer and model do not belong together",
        token_map.num_compressed, config.engram_compressed_vocab_size));
  }
  if (static_cast<size_t>(config.engram_pad_token_id) >= token_map.compressed.size()) {
    return failed_precondition(
        fmt::format("config.json: engram_pad_token_id: {} is beyond the "
                    "tokenizer's {} tokens",
                    config.engram_pad_token_id, token_map.compressed.size()));
  }
  EngramHash hash;
  hash.max_ngram_ = config.engram_max_ngram_size;
  hash.num_heads_ = config.engram_n_heads;
  hash.num_columns_ = config.engram_columns();
  hash.primes_ = engram_primes(static_cast<int32_t>(config.engram_layer_ids.size()),
                               hash.max_ngram_, hash.num_heads_, config.engram_vocab_size);
  DI_TRY(check_tables(config, hash.primes_));
  for (size_t i = 0; i < hash.primes_.size(); ++i) {
    hash.offsets_.push_back(column_offsets(hash.primes_[i]));
    hash.multipliers_.push_back(engram_multipliers(config.engram_layer_ids[i], hash.max_ngram_,
                                                   config.engram_compressed_vocab_size));
  }
  hash.token_map_ = std::move(token_map);
  hash.pad_ = hash.token_map_.compressed[static_cast<size_t>(config.engram_pad_token_id)];
  return hash;
}

int32_t EngramHash::compressed(TokenId id) const {
  const auto index = static_cast<size_t>(id);
  return id >= 0 && index < token_map_.compressed.size() ? token_map_.compressed[index] : pad_;
}

void EngramHash::rows(int32_t layer_index, std::span<const int32_t> history, int64_t* rows) const {
  const auto layer = static_cast<size_t>(layer_index);
  const auto term = [&](int32_t k) {
    return static_cast<uint64_t>(history[static_cast<size_t>(k)]) *
           static_cast<uint64_t>(multipliers_[layer][static_cast<size_t>(k)]);
  };
  uint64_t rolling = term(0);
  size_t column = 0;
  for (int32_t k = 1; k < max_ngram_; ++k) {
    rolling ^= term(k);
    for (int32_t head = 0; head < num_heads_; ++head, ++column) {
      rows[column] = static_cast<int64_t>(rolling % static_cast<uint64_t>(primes_[layer][column])) +
                     offsets_[layer][column];
    }
  }
}

}  // namespace deepinfer::model
