#include "recipe/added_tokens.h"

namespace deepinfer::recipe {
namespace {

uint64_t edge_key(uint32_t node, char byte) {
  return (uint64_t{node} << 8U) | static_cast<uint8_t>(byte);
}

}  // namespace

uint32_t AddedTokens::child(uint32_t node, char byte) const {
  const auto edge = edges_.find(edge_key(node, byte));
  return edge == edges_.end() ? 0 : edge->second;
}

bool AddedTokens::add(std::string_view spelling, TokenId id) {
  if (spelling.empty() || id_of(spelling)) return false;
  uint32_t node = 0;
  for (const char byte : spelling) {
    const auto [edge, is_new] =
        edges_.try_emplace(edge_key(node, byte), static_cast<uint32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(kNoToken);
    node = edge->second;
  }
  tokens_[node] = id;
  begins_[static_cast<uint8_t>(spelling[0])] = true;
  if (static_cast<size_t>(id) >= is_added_.size()) is_added_.resize(static_cast<size_t>(id) + 1);
  is_added_[static_cast<size_t>(id)] = true;
  return true;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, size_t start) const {
  for (size_t begin = start; begin < text.size(); ++begin) {
    if (!begins_[static_cast<uint8_t>(text[begin])]) continue;
    std::optional<Match> longest;
    uint32_t node = 0;
    for (size_t end = begin; end < text.size(); ++end) {
      node = child(node, text[end]);
      if (node == 0) break;
      if (tokens_[node] != kNoToken) {
        longest = Match{.begin = begin, .end = end + 1, .id = tokens_[node]};
      }
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

std::optional<TokenId> AddedTokens::id_of(std::string_view spelling) const {
  uint32_t node = 0;
  for (const char byte : spelling) {
    node = child(node, byte);
    if (node == 0) return std::nullopt;
  }
  if (tokens_[node] == kNoToken) return std::nullopt;
  return tokens_[node];
}

}  // namespace deepinfer::recipe
