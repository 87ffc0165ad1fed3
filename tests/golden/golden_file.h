#pragma once

/// The recorded vectors of a tiny checkpoint (golden.json). Origin: the float64 NumPy reference
/// in plain numerics.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace deepinfer::golden {

struct Logits {
  int32_t position = 0;
  /// Eight best, best first.
  std::vector<std::pair<int32_t, float>> top;
  std::vector<std::pair<int32_t, float>> probes;
};

struct Experts {
  int32_t position = 0;
  std::vector<int32_t> ids;
  std::vector<float> weights;
};

/// Streams after a layer, at the last position.
struct Streams {
  float rms = 0;
  /// First four channels of the first and of the last stream.
  std::vector<float> first, last;
};

struct Prompt {
  std::string name;
  std::vector<int32_t> ids;
  std::vector<Logits> logits;
  std::map<int32_t, std::vector<Experts>> experts;
  std::map<int32_t, std::vector<int32_t>> index_selected;
  std::map<int32_t, std::vector<int64_t>> engram_rows;
  std::map<int32_t, Streams> streams;
  std::vector<int32_t> greedy;
};

using Table = std::vector<std::vector<int64_t>>;

struct File {
  /// Engram addressing by Engram layer, columns flat.
  int32_t compressed_vocab = 0;
  std::vector<int32_t> token_map;
  Table primes, offsets, multipliers;
  std::vector<float> rope_sliding, rope_compressed;
  std::vector<Prompt> prompts;
};

/// Loads `dir`/golden.json; aborts the test program if it cannot be read.
File load(const std::string& dir);

}  // namespace deepinfer::golden
