#pragma once

/// The recipe layer as functions from JSON to JSON, one per kind of recorded case: what
/// `deepinfer-cli recipe` answers line by line and what the corpus tests compare.

#include <optional>
#include <string>
#include <string_view>

#include "deepinfer/status.h"
#include "protocol/conversion.h"
#include "protocol/recipe_policy.h"
#include "recipe/json_reader.h"
#include "recipe/tokenizer.h"

namespace deepinfer::cli {

class RecipeKinds {
 public:
  /// `tokenizer` may be null; kinds that need it then fail. It must outlive this.
  RecipeKinds(const recipe::Tokenizer* tokenizer, const protocol::RecipePolicy& policy)
      : tokenizer_(tokenizer), policy_(policy) {}

  /// The output of `kind` for `input`. A refused request is an output; the failure here means
  /// that the input could not be handled at all.
  Result<recipe::Json> run(std::string_view kind, const recipe::Json& input) const;

 private:
  /// What the body of a case is converted to under `protocol`, or the refusal.
  struct Conversion {
    std::optional<protocol::ConvertedRequest> converted;
    recipe::Json refusal;
  };
  Result<Conversion> convert_as(const std::string& protocol, const recipe::Json& input) const;
  Result<recipe::Json> convert(const std::string& protocol, const recipe::Json& input) const;
  Result<recipe::Json> convert_chat(const recipe::Json& input) const {
    return convert("chat", input);
  }
  Result<recipe::Json> convert_messages(const recipe::Json& input) const {
    return convert("messages", input);
  }
  Result<recipe::Json> convert_responses(const recipe::Json& input) const {
    return convert("responses", input);
  }
  Result<recipe::Json> max_tokens(const recipe::Json& input) const;
  Result<recipe::Json> render(const recipe::Json& input) const;
  Result<recipe::Json> encode(const recipe::Json& input) const;
  Result<recipe::Json> tokenize(const recipe::Json& input) const;
  Result<recipe::Json> detokenize(const recipe::Json& input) const;
  Result<recipe::Json> chat_stream(const recipe::Json& input) const;
  Result<recipe::Json> messages_stream(const recipe::Json& input) const;
  Result<recipe::Json> responses_stream(const recipe::Json& input) const;
  Result<const recipe::Tokenizer*> tokenizer() const;

  const recipe::Tokenizer* tokenizer_;
  const protocol::RecipePolicy policy_;
};

}  // namespace deepinfer::cli
