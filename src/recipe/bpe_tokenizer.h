#pragma once

/// The byte-level BPE tokenizer behind `Tokenizer::load`.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/added_tokens.h"
#include "recipe/bpe.h"
#include "recipe/pre_tokenizer.h"
#include "recipe/tokenizer.h"
#include "recipe/vocabulary.h"

namespace deepinfer::recipe {

/// Immutable; thread-safe.
class BpeTokenizer final : public Tokenizer {
 public:
  /// From the text of a tokenizer.json. Errors name the member at fault:
  /// kFailedPrecondition for a damaged file, kUnimplemented for kinds of tokenizer that this
  /// one is not. `truncation`, `padding` and `post_processor` have no effect: prompts are
  /// neither cut nor wrapped here.
  static Result<std::unique_ptr<BpeTokenizer>> parse(std::string_view json_text);

  std::vector<TokenId> encode_plain(std::string_view text) const override;
  std::vector<TokenId> encode_full(std::string_view raw) const override;
  std::string_view token_bytes(TokenId id) const override { return vocabulary_.bytes(id); }
  bool is_special(TokenId id) const override { return added_.contains(id); }
  std::optional<TokenId> special_id(std::string_view spelling) const override {
    return added_.id_of(spelling);
  }
  int32_t vocab_size() const override { return vocabulary_.size(); }

 private:
  BpeTokenizer(Vocabulary vocabulary, Bpe bpe, AddedTokens added, PreTokenizer pre_tokenizer);

  /// `text` must be valid UTF-8.
  void append_plain(std::string_view text, std::vector<Piece>& pieces,
                    std::vector<TokenId>& ids) const;

  Vocabulary vocabulary_;
  Bpe bpe_;
  AddedTokens added_;
  PreTokenizer pre_tokenizer_;
};

}  // namespace deepinfer::recipe
