#pragma once

/// Engine outputs → the events and the response of one chat completion.

#include <memory>
#include <string>
#include <vector>

#include "protocol/chat/chat_choice.h"
#include "protocol/chat/chat_chunks.h"
#include "protocol/completion.h"
#include "protocol/recipe_policy.h"

namespace deepinfer::protocol {

class ChatAssembler final : public ResponseAssembler {
 public:
  struct Settings {
    ChatEnvelope envelope;
    int32_t num_choices = 1;
    bool stream = false;
    bool include_usage = false;
    /// Every chunk carries the usage so far.
    bool continuous_usage = false;
    recipe::ParsingOptions parsing;
    /// Tokens that end a generation and are no part of its text.
    std::vector<TokenId> end_tokens;
    uint64_t prompt_tokens = 0;
    RecipePolicy policy;
  };
  /// `recipe` must outlive the assembler.
  ChatAssembler(const Settings& settings, const recipe::Recipe& recipe);

  std::vector<Event> push(int32_t index, const TokenOutput& output) override;
  bool choice_done(int32_t index) const override;
  std::vector<Event> finish() override;
  std::string response() override;
  uint32_t invalid_arguments() const override;

 private:
  ChatUsage usage() const;
  void end_choice(ChatChoice& choice, std::string_view reason, std::vector<std::string>& chunks);

  const Settings settings_;
  const ChunkWriter writer_;
  std::vector<ChatChoice> choices_;
  uint64_t cached_tokens_ = 0;
};

}  // namespace deepinfer::protocol
