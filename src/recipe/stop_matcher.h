#pragma once

/// Finds the first of several byte strings in text that arrives in pieces, and says how much
/// of the text's end could still become one. Used for stop sequences and for the markers of
/// the output grammar.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace deepinfer::recipe {

/// An Aho-Corasick automaton: constant time per byte whatever the patterns are. Immutable;
/// the position of a search is one integer, kept by the caller.
class StopMatcher {
 public:
  static constexpr int32_t kStart = 0;
  static constexpr int32_t kNoMatch = -1;

  /// Earlier patterns win over later ones that complete at the same byte. Empty patterns
  /// never match.
  explicit StopMatcher(std::vector<std::string> patterns);

  /// Moves `node` over one byte. Returns the pattern this byte completes, or kNoMatch.
  int32_t step(int32_t& node, uint8_t byte) const;
  /// Length of the longest end of the text seen so far that begins a pattern.
  size_t held(int32_t node) const { return nodes_[static_cast<size_t>(node)].depth; }
  size_t pattern_size(int32_t pattern) const {
    return patterns_[static_cast<size_t>(pattern)].size();
  }

 private:
  struct Node {
    int32_t first_child = -1;
    int32_t next_sibling = -1;
    int32_t fail = kStart;
    int32_t match = kNoMatch;
    uint32_t depth = 0;
    uint8_t byte = 0;
  };

  int32_t child(int32_t node, uint8_t byte) const;
  void insert(const std::string& pattern, int32_t index);
  void link();

  std::vector<std::string> patterns_;
  std::vector<Node> nodes_;
  /// Children of the start node by byte: most bytes of ordinary text stay there.
  std::array<int32_t, 256> start_children_{};
};

}  // namespace deepinfer::recipe
