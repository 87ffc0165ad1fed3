#pragma once

/// Engine outputs -> the chunks and the response of one request for raw completions.

#include <string>
#include <vector>

#include "protocol/completion.h"
#include "protocol/completions/completions_writer.h"
#include "recipe/recipe.h"

namespace deepinfer::protocol {

class CompletionsAssembler final : public ResponseAssembler {
 public:
  struct Prompt {
    std::vector<TokenId> tokens;
    /// Sent in front of the completion; empty without echo.
    std::string echo;
  };
  struct Settings {
    CompletionsWriter::Settings writer;
    std::vector<Prompt> prompts;
    /// Choices per prompt; those of a prompt follow each other.
    int32_t num_choices = 1;
    bool stream = false;
    bool include_usage = false;
    /// Every chunk carries the usage so far.
    bool continuous_usage = false;
    std::vector<std::string> stop_sequences;
    /// Tokens that end a generation and are no part of its text.
    std::vector<TokenId> end_tokens;
    RecipePolicy policy;
  };
  /// `recipe` must outlive the assembler.
  CompletionsAssembler(const Settings& settings, const recipe::Recipe& recipe);

  std::vector<Event> push(int32_t index, const TokenOutput& output) override;
  bool choice_done(int32_t index) const override;
  std::vector<Event> finish() override;
  std::string response() override;

 private:
  /// One choice as it grows.
  struct Choice {
    CompletionText text;
    /// All of it, for the plain answer.
    CompletionPiece whole;
    std::string_view finish_reason;
    uint64_t cached_tokens = 0;
    uint64_t end_tokens = 0;
    bool begun = false;
  };

  const Prompt& prompt_of(int32_t choice) const;
  Choice& at(int32_t choice) { return choices_[static_cast<size_t>(choice)]; }
  void take(int32_t index, CompletionPiece piece, std::vector<Event>& events);
  ChatUsage usage() const;

  const Settings settings_;
  const CompletionsWriter writer_;
  std::vector<Choice> choices_;
};

}  // namespace deepinfer::protocol
