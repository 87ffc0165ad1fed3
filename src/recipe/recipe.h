#pragma once

/// Everything about turning conversations into tokens for one model: its tokenizer, prompt
/// encoding and control tokens, chosen together from the model directory.

#include <memory>
#include <string>
#include <vector>

#include "deepinfer/status.h"
#include "recipe/chat_encoder.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe {

/// Ids of the tokens that structure the output (recipe spec §7); kNone, which no model gives,
/// for those that the tokenizer does not have.
struct ControlTokens {
  static constexpr TokenId kNone = -1;
  TokenId bos = kNone;
  TokenId eos = kNone;
  TokenId think_start = kNone;
  TokenId think_end = kNone;
  TokenId dsml = kNone;
};

/// Immutable; thread-safe.
class Recipe {
 public:
  /// Chooses encoding and parser by `architectures` in `model_dir`/config.json; an unknown one
  /// fails. A tokenizer that lacks some of the encoding's control tokens fails and names the
  /// missing ones; one that has none of the chat tokens (a bare test checkpoint) gets them
  /// spelled as plain text, and `has_chat_tokens()` is false so that the caller can say so.
  /// Errors name the file: kNotFound if it is missing, kFailedPrecondition if it is damaged or
  /// lacks a token, kUnimplemented for an unknown architecture.
  static Result<std::unique_ptr<Recipe>> make(const std::string& model_dir,
                                              const std::string& tokenizer_dir);

  Recipe(Encoding encoding, std::unique_ptr<Tokenizer> tokenizer, ControlTokens control,
         bool has_chat_tokens);

  Encoding encoding() const { return encoding_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ControlTokens& control() const { return control_; }
  bool has_chat_tokens() const { return has_chat_tokens_; }
  /// How this tokenizer spells the image token; the encoding's own spelling if it has none.
  const std::string& image_token() const { return image_token_; }

  /// The prompt of `conversation`, with this tokenizer's spelling of the image token.
  RenderedPrompt render(const Conversation& conversation) const;
  /// Ids of `prompt`; without chat tokens their spellings count as text.
  Result<std::vector<TokenId>> encode(const RenderedPrompt& prompt) const;

 private:
  Encoding encoding_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ControlTokens control_;
  bool has_chat_tokens_;
  std::string image_token_;
};

}  // namespace deepinfer::recipe
