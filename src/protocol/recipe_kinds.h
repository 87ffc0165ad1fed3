#pragma once

/// The recipe layer as functions from JSON to JSON, one per kind of recorded case: what
/// `deepinfer-cli recipe` answers line by line and what the corpus tests compare.

#include <string_view>

#include "deepinfer/status.h"
#include "protocol/json_reader.h"
#include "protocol/recipe_policy.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

class RecipeKinds {
 public:
  /// `tokenizer` may be null; kinds that need it then fail. It must outlive this.
  RecipeKinds(const recipe::Tokenizer* tokenizer, const RecipePolicy& policy)
      : tokenizer_(tokenizer), policy_(policy) {}

  /// The output of `kind` for `input`. A refused request is an output; the failure here means
  /// that the input could not be handled at all.
  Result<Json> run(std::string_view kind, const Json& input) const;

 private:
  Result<Json> convert(const Json& input) const;
  Result<Json> max_tokens(const Json& input) const;
  Result<Json> render(const Json& input) const;
  Result<Json> encode(const Json& input) const;
  Result<Json> tokenize(const Json& input) const;
  Result<Json> detokenize(const Json& input) const;
  Result<Json> stream(const Json& input) const;
  Result<const recipe::Tokenizer*> tokenizer() const;

  const recipe::Tokenizer* tokenizer_;
  const RecipePolicy policy_;
};

}  // namespace deepinfer::protocol
