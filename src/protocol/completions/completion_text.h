#pragma once

/// One raw completion: tokens become text as they stand, up to a stop sequence.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/detokenizer.h"
#include "recipe/stop_matcher.h"

namespace deepinfer::protocol {

/// Text that was released, with what came along.
struct CompletionPiece {
  /// One token whose text begins in the piece.
  struct Token {
    PositionLogprobs logprobs;
    /// Characters in front of it.
    uint64_t offset = 0;
  };
  std::string text;
  /// Empty without log probabilities.
  std::vector<Token> tokens;
  std::vector<TokenId> token_ids;

  bool empty() const { return text.empty() && tokens.empty() && token_ids.empty(); }
};

/// One output stream. One thread.
class CompletionText {
 public:
  /// `num_characters` of text stand in front of the completion.
  CompletionText(const recipe::Tokenizer& tokenizer, std::vector<std::string> stop_sequences,
                 uint64_t characters_before);

  /// Takes tokens; `logprobs` is empty or has one entry per token. Nothing after a stop
  /// sequence is taken.
  void push(std::span<const TokenId> tokens, std::span<const PositionLogprobs> logprobs,
            CompletionPiece& out);
  /// End of the output: releases everything held back.
  void finish(CompletionPiece& out);

  /// True once a stop sequence matched.
  bool stopped() const { return stopped_; }
  /// Up to the one that completed a stop sequence.
  uint64_t tokens_taken() const { return tokens_taken_; }

 private:
  struct Waiting {
    CompletionPiece::Token token;
    /// Bytes of the completion in front of the token.
    uint64_t begin = 0;
  };

  void append(std::string_view text, CompletionPiece& out);
  void release(size_t n, CompletionPiece& out);
  void release_tokens(bool all, CompletionPiece& out);

  const recipe::Tokenizer& tokenizer_;
  const recipe::StopMatcher stops_;
  int32_t node_ = recipe::StopMatcher::kStart;
  recipe::IncrementalDetokenizer detokenizer_;
  /// Text that could still become a stop sequence.
  std::string held_;
  std::vector<Waiting> waiting_;
  uint64_t num_characters_;
  uint64_t bytes_seen_ = 0;
  uint64_t bytes_sent_ = 0;
  uint64_t tokens_taken_ = 0;
  bool stopped_ = false;
};

/// Characters of UTF-8 text; bytes that are none count with what they follow.
uint64_t num_characters(std::string_view text);

}  // namespace deepinfer::protocol
