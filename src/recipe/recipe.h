#pragma once

/// Everything about turning conversations into tokens for one model: its tokenizer, prompt
/// encoding and control tokens, chosen together from the model directory.

#include <memory>
#include <string>

#include "deepinfer/status.h"
#include "recipe/chat_encoder.h"
#include "recipe/tokenizer.h"

namespace deepinfer::recipe {

/// Ids of the tokens that structure the output (recipe spec §7).
struct ControlTokens {
  TokenId bos = 0;
  TokenId eos = 0;
  TokenId think_start = 0;
  TokenId think_end = 0;
  TokenId dsml = 0;
};

/// Immutable; thread-safe.
class Recipe {
 public:
  /// Chooses encoding and parser by `architectures` in `dir`/config.json; an unknown one fails.
  /// A tokenizer that lacks some of the encoding's control tokens fails and names the missing
  /// ones; one that has none of the chat tokens (a bare test checkpoint) gets them spelled as
  /// plain text, and `has_chat_tokens()` is false so that the caller can say so.
  static Result<std::unique_ptr<Recipe>> make(const std::string& model_dir,
                                              const std::string& tokenizer_dir);

  Recipe(Encoding encoding, std::unique_ptr<Tokenizer> tokenizer, ControlTokens control,
         bool has_chat_tokens);

  Encoding encoding() const { return encoding_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const ControlTokens& control() const { return control_; }
  bool has_chat_tokens() const { return has_chat_tokens_; }

 private:
  Encoding encoding_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ControlTokens control_;
  bool has_chat_tokens_;
};

}  // namespace deepinfer::recipe
