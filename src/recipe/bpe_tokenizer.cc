#include "recipe/bpe_tokenizer.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "recipe/byte_alphabet.h"
#include "recipe/json_member.h"
#include "recipe/utf8.h"

namespace deepinfer::recipe {
namespace {

using FileJson = nlohmann::json;

Status check_absent(const FileJson& object, std::string_view name, const std::string& where) {
  const FileJson& value = member_or_null(object, name);
  const bool absent = value.is_null() || value == FileJson("") || value == 0.0;
  if (absent) return Status::ok();
  return unimplemented(where + "." + std::string(name) + ": expected null, got " +
                       value.type_name());
}

Status check_false(const FileJson& object, std::string_view name, const std::string& where) {
  DI_ASSIGN(const bool on, bool_member(object, name, where, false));
  if (!on) return Status::ok();
  return unimplemented(where + "." + std::string(name) + ": expected false, got true");
}

/// Only the empty normalizer: text is tokenized as it is.
Status check_normalizer(const FileJson& value) {
  if (value.is_null()) return Status::ok();
  DI_ASSIGN(const std::string type, string_member(value, "type", "normalizer"));
  const FileJson& list = member_or_null(value, "normalizers");
  if (type == "Sequence" && list.is_array() && list.empty()) return Status::ok();
  return unimplemented("normalizer: expected null or an empty Sequence, got " + type);
}

Status check_decoder(const FileJson& value) {
  DI_ASSIGN(const std::string type, string_member(value, "type", "decoder"));
  if (type == "ByteLevel") return Status::ok();
  return unimplemented("decoder.type: expected ByteLevel, got " + type);
}

Status check_model_options(const FileJson& model) {
  const FileJson& type = member_or_null(model, "type");
  if (!type.is_null() && type != "BPE") {
    return unimplemented("model.type: expected \"BPE\", got " +
                         (type.is_string() ? type.get<std::string>() : type.type_name()));
  }
  DI_TRY(check_absent(model, "dropout", "model"));
  DI_TRY(check_absent(model, "continuing_subword_prefix", "model"));
  DI_TRY(check_absent(model, "end_of_word_suffix", "model"));
  DI_TRY(check_false(model, "byte_fallback", "model"));
  // All 256 bytes have tokens, so nothing is ever unknown; only the types are checked.
  const FileJson& unknown = member_or_null(model, "unk_token");
  if (!unknown.is_null() && !unknown.is_string()) {
    return wrong_member("model.unk_token", "a string or null", unknown);
  }
  return bool_member(model, "fuse_unk", "model", false).status();
}

Result<TokenId> token_id(const FileJson& value, const std::string& where) {
  const bool in_range = value.is_number_unsigned() && value.get<uint64_t>() <= Vocabulary::kMaxId;
  if (in_range) return static_cast<TokenId>(value.get<uint64_t>());
  return wrong_member(where, "a token id in [0, " + std::to_string(Vocabulary::kMaxId) + "]",
                      value);
}

Status read_vocabulary_entry(const std::string& spelling, const FileJson& value,
                             Vocabulary& vocabulary) {
  DI_ASSIGN(const TokenId id, token_id(value, "id"));
  if (vocabulary.contains(id)) {
    return failed_precondition("expected an id of its own, got " + std::to_string(id) +
                               ", which is taken");
  }
  // A spelling outside the byte alphabet is that of a control token: its own text.
  const auto bytes = bytes_of_spelling(spelling);
  return vocabulary.add(id, bytes ? *bytes : spelling, bytes.has_value());
}

Status read_vocabulary(const FileJson& vocab, Vocabulary& vocabulary) {
  if (!vocab.is_object() || vocab.empty()) {
    return wrong_member("model.vocab", "an object of token ids", vocab);
  }
  for (const auto& [spelling, value] : vocab.get_ref<const FileJson::object_t&>()) {
    const Status added = read_vocabulary_entry(spelling, value, vocabulary);
    if (!added.is_ok()) {
      return added.with_context("model.vocab[" + FileJson(spelling).dump() + "]");
    }
  }
  return Status::ok();
}

Status read_added_token(const FileJson& token, const std::string& where, Vocabulary& vocabulary,
                        AddedTokens& added) {
  if (!token.is_object()) return wrong_member(where, "an object", token);
  DI_ASSIGN(const TokenId id, token_id(member_or_null(token, "id"), where + ".id"));
  DI_ASSIGN(const std::string content, string_member(token, "content", where));
  for (const char* option : {"single_word", "lstrip", "rstrip"}) {
    DI_TRY(check_false(token, option, where));
  }
  // Whether it is `special` or `normalized` makes no difference without a normalizer.
  DI_TRY(bool_member(token, "special", where, false));
  DI_TRY(bool_member(token, "normalized", where, false));
  DI_TRY(vocabulary.add(id, content, false));
  if (vocabulary.bytes(id) != content) {
    return failed_precondition(where + ".id: expected an id of its own, got " + std::to_string(id) +
                               ", which is taken");
  }
  if (added.contains(id) || !added.add(content, id)) {
    return failed_precondition(where + ": expected a new id and a new, non-empty content");
  }
  return Status::ok();
}

Status read_added_tokens(const FileJson& list, Vocabulary& vocabulary, AddedTokens& added) {
  if (list.is_null()) return Status::ok();
  if (!list.is_array()) return wrong_member("added_tokens", "a list", list);
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = "added_tokens[" + std::to_string(i) + "]";
    DI_TRY(read_added_token(list[i], where, vocabulary, added));
  }
  return Status::ok();
}

/// The two sides of a merge, written "a b" or ["a", "b"].
std::optional<std::pair<std::string_view, std::string_view>> merge_sides(const FileJson& value) {
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    return std::pair<std::string_view, std::string_view>(value[0].get_ref<const std::string&>(),
                                                         value[1].get_ref<const std::string&>());
  }
  if (!value.is_string()) return std::nullopt;
  const std::string_view text = value.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

Status read_merge(const FileJson& value, const Vocabulary& vocabulary, Bpe& bpe) {
  const auto sides = merge_sides(value);
  if (!sides) return wrong_member("merge", "\"a b\" or [\"a\", \"b\"]", value);
  const auto left = bytes_of_spelling(sides->first);
  const auto right = bytes_of_spelling(sides->second);
  if (!left || !right) {
    return failed_precondition("expected tokens spelled in the byte alphabet, got " + value.dump());
  }
  const TokenId left_id = vocabulary.find(*left);
  const TokenId right_id = vocabulary.find(*right);
  const TokenId merged_id = vocabulary.find(*left + *right);
  for (const TokenId id : {left_id, right_id, merged_id}) {
    if (id != Vocabulary::kNoToken) continue;
    return failed_precondition("expected both sides and their union in model.vocab, got " +
                               value.dump());
  }
  bpe.add_merge(left_id, right_id, merged_id);
  return Status::ok();
}

Result<Bpe> read_merges(const FileJson& model, const Vocabulary& vocabulary) {
  const FileJson& merges = member_or_null(model, "merges");
  if (!merges.is_array()) return wrong_member("model.merges", "a list", merges);
  auto bpe = Bpe::create(vocabulary, merges.size());
  if (!bpe) return bpe.error().with_context("model.vocab");
  for (size_t i = 0; i < merges.size(); ++i) {
    const Status added = read_merge(merges[i], vocabulary, *bpe);
    if (!added.is_ok()) return added.with_context("model.merges[" + std::to_string(i) + "]");
  }
  DI_ASSIGN(const bool ignore_merges, bool_member(model, "ignore_merges", "model", false));
  bpe->finish(vocabulary, ignore_merges);
  return bpe;
}

/// `text` itself if it is UTF-8, else a copy in `storage` with U+FFFD for what is not.
std::string_view as_valid_utf8(std::string_view text, std::string& storage) {
  if (is_valid_utf8(text)) return text;
  append_lossy(text, storage);
  return storage;
}

}  // namespace

BpeTokenizer::BpeTokenizer(Vocabulary vocabulary, Bpe bpe, AddedTokens added,
                           PreTokenizer pre_tokenizer)
    : vocabulary_(std::move(vocabulary)),
      bpe_(std::move(bpe)),
      added_(std::move(added)),
      pre_tokenizer_(std::move(pre_tokenizer)) {}

Result<std::unique_ptr<BpeTokenizer>> BpeTokenizer::parse(std::string_view json_text) {
  const FileJson file = FileJson::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) {
    return failed_precondition(file.is_discarded() ? "expected JSON, got something else"
                                                   : "expected a JSON object");
  }
  const FileJson& model = member_or_null(file, "model");
  if (!model.is_object()) return wrong_member("model", "an object", model);
  DI_TRY(check_normalizer(member_or_null(file, "normalizer")));
  DI_TRY(check_decoder(member_or_null(file, "decoder")));
  DI_TRY(check_model_options(model));
  DI_ASSIGN(PreTokenizer pre_tokenizer, PreTokenizer::parse(member_or_null(file, "pre_tokenizer")));
  Vocabulary vocabulary;
  AddedTokens added;
  DI_TRY(read_vocabulary(member_or_null(model, "vocab"), vocabulary));
  DI_TRY(read_added_tokens(member_or_null(file, "added_tokens"), vocabulary, added));
  DI_ASSIGN(Bpe bpe, read_merges(model, vocabulary));
  return std::unique_ptr<BpeTokenizer>(new BpeTokenizer(
      std::move(vocabulary), std::move(bpe), std::move(added), std::move(pre_tokenizer)));
}

void BpeTokenizer::append_plain(std::string_view text, std::vector<Piece>& pieces,
                                std::vector<TokenId>& ids) const {
  pre_tokenizer_.split(text, pieces);
  for (const Piece& piece : pieces) {
    bpe_.encode(text.substr(piece.begin, piece.end - piece.begin), vocabulary_, ids);
  }
}

std::vector<TokenId> BpeTokenizer::encode_plain(std::string_view text) const {
  std::string storage;
  std::vector<Piece> pieces;
  std::vector<TokenId> ids;
  append_plain(as_valid_utf8(text, storage), pieces, ids);
  return ids;
}

std::vector<TokenId> BpeTokenizer::encode_full(std::string_view raw) const {
  std::string storage;
  const std::string_view text = as_valid_utf8(raw, storage);
  std::vector<Piece> pieces;
  std::vector<TokenId> ids;
  size_t done = 0;
  while (const auto match = added_.find(text, done)) {
    append_plain(text.substr(done, match->begin - done), pieces, ids);
    ids.push_back(match->id);
    done = match->end;
  }
  append_plain(text.substr(done), pieces, ids);
  return ids;
}

}  // namespace deepinfer::recipe
