#pragma once

/// Cuts text into the words that BPE works on: the `pre_tokenizer` of a tokenizer file.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "recipe/pattern.h"

namespace deepinfer::recipe {

/// A word, as bytes [begin, end) of the text.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
};

/// A sequence of splits, each applied to every piece that the former left. Immutable;
/// thread-safe. Source: the `tokenizers` documentation, "Pre-tokenizers".
class PreTokenizer {
 public:
  /// Reads the member `pre_tokenizer`: ByteLevel, Split, Digits, or a Sequence of them that
  /// ends in its only ByteLevel. Errors name the member; kUnimplemented for other types.
  static Result<PreTokenizer> parse(const nlohmann::json& value);

  /// Replaces `pieces` by the words of `text` (valid UTF-8), in order, none empty.
  void split(std::string_view text, std::vector<Piece>& pieces) const;

 private:
  /// What becomes of the stretches that match.
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  struct Step {
    Pattern pattern;
    Behavior behavior = Behavior::kIsolated;
    /// Matches and the stretches between them change places.
    bool invert = false;
  };
  struct Segment;

  static Result<Behavior> parse_behavior(const nlohmann::json& value, const std::string& where);
  static Result<Step> parse_split(const nlohmann::json& value, const std::string& where);
  static Result<Step> parse_digits(const nlohmann::json& value, const std::string& where);
  static Status parse_byte_level(const nlohmann::json& value, const std::string& where,
                                 std::vector<Step>& steps);
  static Status parse_one(const nlohmann::json& value, const std::string& where, bool is_last,
                          std::vector<Step>& steps);
  static void find_segments(const Step& step, std::string_view text, PatternMatcher& matcher,
                            std::vector<Segment>& segments);
  static void append_pieces(const Step& step, const std::vector<Segment>& segments, size_t offset,
                            std::vector<Piece>& pieces);

  std::vector<Step> steps_;
};

}  // namespace deepinfer::recipe
