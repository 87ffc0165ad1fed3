#include "protocol/completions/completion_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace deepinfer::protocol {

uint64_t num_characters(std::string_view text) {
  return static_cast<uint64_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U; }));
}

CompletionText::CompletionText(const recipe::Tokenizer& tokenizer,
                               std::vector<std::string> stop_sequences, uint64_t characters_before)
    : tokenizer_(tokenizer),
      stops_(std::move(stop_sequences)),
      detokenizer_(tokenizer),
      num_characters_(characters_before) {}

void CompletionText::push(std::span<const TokenId> tokens,
                          std::span<const PositionLogprobs> logprobs, CompletionPiece& out) {
  for (size_t i = 0; i < tokens.size() && !stopped_; ++i) {
    const std::string_view bytes = tokenizer_.token_bytes(tokens[i]);
    if (i < logprobs.size()) {
      waiting_.push_back({{logprobs[i], num_characters_}, bytes_seen_});
    }
    num_characters_ += num_characters(bytes);
    bytes_seen_ += bytes.size();
    ++tokens_taken_;
    out.token_ids.push_back(tokens[i]);
    append(detokenizer_.push(tokens[i]), out);
  }
  release_tokens(false, out);
}

void CompletionText::finish(CompletionPiece& out) {
  if (!stopped_) {
    append(detokenizer_.finish(), out);
  }
  if (!stopped_) {
    release(held_.size(), out);
  }
  release_tokens(!stopped_, out);
}

void CompletionText::append(std::string_view text, CompletionPiece& out) {
  for (const char c : text) {
    held_ += c;
    const int32_t pattern = stops_.step(node_, static_cast<uint8_t>(c));
    if (pattern != recipe::StopMatcher::kNoMatch) {
      stopped_ = true;
      release(held_.size() - stops_.pattern_size(pattern), out);
      held_.clear();
      return;
    }
  }
  release(held_.size() - stops_.held(node_), out);
}

void CompletionText::release(size_t n, CompletionPiece& out) {
  out.text.append(held_, 0, n);
  held_.erase(0, n);
  bytes_sent_ += n;
}

/// A token goes with the first of its text.
void CompletionText::release_tokens(bool all, CompletionPiece& out) {
  const auto end = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
    return !all && waiting.begin >= bytes_sent_;
  });
  for (auto at = waiting_.begin(); at != end; ++at) {
    out.tokens.push_back(std::move(at->token));
  }
  waiting_.erase(waiting_.begin(), end);
}

}  // namespace deepinfer::protocol
