#pragma once

/// Engine outputs -> the events and the response of one Messages request.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/completion.h"
#include "protocol/messages/messages_stream.h"
#include "protocol/recipe_policy.h"

namespace deepinfer::protocol {

class MessagesAssembler final : public ResponseAssembler {
 public:
  struct Settings {
    MessagesEnvelope envelope;
    recipe::ParsingOptions parsing;
    /// Tokens that end a generation and are no part of its text.
    std::vector<TokenId> end_tokens;
    uint64_t prompt_tokens = 0;
    RecipePolicy policy;
  };
  /// `recipe` must outlive the assembler.
  MessagesAssembler(const Settings& settings, const recipe::Recipe& recipe);

  std::vector<Event> push(int32_t choice, const TokenOutput& output) override;
  bool choice_done(int32_t) const override { return stream_.done(); }
  /// There is no mark behind `message_stop`.
  std::vector<Event> finish() override { return {}; }
  std::string response() override { return stream_.response(usage()); }
  uint32_t invalid_arguments() const override { return stream_.invalid_arguments(); }
  std::vector<Event> failed(std::string error_body) override {
    return {{.name = "error", .data = std::move(error_body)}};
  }
  /// A ping, once the message has begun.
  std::vector<Event> keep_alive() override;

 private:
  MessagesUsage usage() const;

  const std::vector<TokenId> end_tokens_;
  const uint64_t prompt_tokens_;
  uint64_t cached_tokens_ = 0;
  MessagesStream stream_;
};

}  // namespace deepinfer::protocol
