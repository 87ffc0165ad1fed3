#pragma once

/// What the fuzz targets share. A target is one file with `LLVMFuzzerTestOneInput`; libFuzzer
/// drives it in the `fuzz` preset, replay_main.cc plays its seeds in every other build. A broken
/// property ends the program, which is what both take for a finding.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/completion.h"
#include "recipe/recipe.h"

namespace deepinfer::fuzz {

using recipe::Json;

/// Prints what is wrong, with the text it was seen in, and aborts.
[[noreturn]] void finding(std::string_view what, std::string_view text);
inline void expect(bool holds, std::string_view what, std::string_view text = {}) {
  if (!holds) {
    finding(what, text);
  }
}

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Choices at the front of an input; what is left is its text. Reads zeros behind the end.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}
  uint8_t byte();
  /// In [0, n); n is at most 256.
  size_t below(size_t n) { return byte() % n; }
  bool flag() { return (byte() & 1) != 0; }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// Lengths of the pieces in which something arrives: 1 to 8 at a time, or all at once for seed 0.
class Cuts {
 public:
  explicit Cuts(uint8_t seed) : whole_(seed == 0), state_(seed) {}
  size_t next(size_t left);

 private:
  const bool whole_;
  uint32_t state_;
};

/// The recipe of models/demo: the V4.1 encoding with every control token, and a vocabulary of
/// 2,048. The targets run in the root of the repository.
const recipe::Recipe& demo_recipe();
const protocol::ServiceInfo& demo_service();

/// A refusal as clients get it: a status in 400..499, words in UTF-8, a body in JSON.
void expect_refusal(const Status& status);
/// A damaged file: kFailedPrecondition or kUnimplemented, words in UTF-8.
void expect_bad_file(const Status& status);
/// `text` parsed; a finding if it is not JSON.
Json expect_json(std::string_view text);

/// Ids for output bytes: a byte that can stand in UTF-8 is that byte's token, the others are
/// the markers and ids in `kTokenBytes`.
std::vector<TokenId> output_tokens(std::string_view bytes);

}  // namespace deepinfer::fuzz
