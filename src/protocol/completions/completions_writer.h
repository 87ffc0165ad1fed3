#pragma once

/// The JSON of raw completions: chunks and the whole response have one shape.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/chat/chat_chunks.h"
#include "protocol/completions/completion_text.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// One entry of `choices`.
struct CompletionChoice {
  int32_t index = 0;
  CompletionPiece piece;
  /// `stop` or `length`; empty while it runs.
  std::string_view finish_reason;
  /// Ids of the prompt, where they are reported.
  const std::vector<TokenId>* prompt_token_ids = nullptr;
};

class CompletionsWriter {
 public:
  struct Settings {
    std::string id;
    std::string model;
    int64_t created = 0;
    std::string system_fingerprint;
    /// Log probabilities were asked for.
    bool logprobs = false;
    bool token_ids = false;
  };
  /// `tokenizer` must outlive the writer.
  CompletionsWriter(const Settings& settings, const recipe::Tokenizer& tokenizer);

  /// A chunk, or the whole response, whose usage it carries. No usage is null or left out.
  std::string write(const std::vector<CompletionChoice>& choices, const ChatUsage* usage) const;

 private:
  void append_choice(const CompletionChoice& choice, std::string& out) const;
  void append_logprobs(const CompletionPiece& piece, std::string& out) const;
  void append_top(const PositionLogprobs& position, std::string& out) const;

  const Settings settings_;
  const recipe::Tokenizer& tokenizer_;
  /// Everything up to the choices.
  std::string prefix_;
};

}  // namespace deepinfer::protocol
