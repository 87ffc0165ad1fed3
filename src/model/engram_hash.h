#pragma once

/// Which table rows a token reads at the Engram layers (model spec §5). Host work only.

#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "model/model_config.h"
#include "model/token_map.h"

namespace deepinfer::model {

/// The moduli: [layer in config order][column], columns n-gram-major, head-minor. Every prime
/// occurs once (§5.2).
std::vector<std::vector<int64_t>> engram_primes(int32_t num_layers, int32_t max_ngram,
                                                int32_t num_heads, int64_t search_start);

/// `count` odd multipliers of a layer (§5.3): the stream NumPy's PCG64 generator gives for the
/// seed 10007 * layer. `compressed_vocab` must be below 2^30.
std::vector<int64_t> engram_multipliers(int32_t layer, int32_t count, int32_t compressed_vocab);

/// Row numbers from token ids. Immutable; safe to share.
class EngramHash {
 public:
  /// kFailedPrecondition if the tokenizer's compressed vocabulary or a table's size is not the
  /// one in `config`: the rows would be meaningless.
  static Result<EngramHash> create(const ModelConfig& config, TokenMap token_map);

  /// Tokens before the current one that its rows depend on.
  int32_t lookback() const { return max_ngram_ - 1; }
  int32_t num_columns() const { return num_columns_; }
  /// What stands for the token `id`; ids beyond the tokenizer count as padding.
  int32_t compressed(TokenId id) const;
  /// What stands before the beginning of a sequence.
  int32_t pad() const { return pad_; }

  /// Rows of one token at the Engram layer with rank `layer_index`. `history[k]` is the
  /// compressed id k tokens back (0: the token itself), `pad()` before the sequence; lookback()
  /// + 1 entries. `rows` receives num_columns() numbers.
  void rows(int32_t layer_index, std::span<const int32_t> history, int64_t* rows) const;

  const std::vector<std::vector<int64_t>>& primes() const { return primes_; }
  const std::vector<std::vector<int64_t>>& offsets() const { return offsets_; }
  const std::vector<std::vector<int64_t>>& multipliers() const { return multipliers_; }

 private:
  EngramHash() = default;

  int32_t max_ngram_ = 0;
  int32_t num_heads_ = 0;
  int32_t num_columns_ = 0;
  int32_t pad_ = 0;
  TokenMap token_map_;
  std::vector<std::vector<int64_t>> primes_;
  std::vector<std::vector<int64_t>> offsets_;
  std::vector<std::vector<int64_t>> multipliers_;
};

}  // namespace deepinfer::model
