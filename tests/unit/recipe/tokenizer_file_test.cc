#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "recipe/bpe_tokenizer.h"
#include "recipe/detokenizer.h"
#include "recipe/utf8.h"

namespace deepinfer::recipe {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<TokenId>;

std::string tiny_text() {
  std::ifstream file("tests/data/tiny-a/tokenizer.json");
  return {std::istreambuf_iterator<char>(file), {}};
}

const Json& tiny() {
  static const Json file = Json::parse(tiny_text());
  return file;
}

/// The tiny file with the value at `pointer` replaced.
Json changed(const char* pointer, const Json& value) {
  Json file = tiny();
  file[Json::json_pointer(pointer)] = value;
  return file;
}

/// A file with the 256 bytes (ids 0 to 255, in the alphabet's order) and the given merges.
Json small_file(const std::vector<std::string>& tokens, const Json& merges) {
  Json file = tiny();
  Json& model = file["model"];
  TokenId next = 0;
  Json vocab = Json::object();
  for (const auto& [spelling, id] : tiny()["model"]["vocab"].items()) {
    if (id.get<int>() >= 3 && id.get<int>() < 259) vocab[spelling] = next++;
  }
  for (const std::string& token : tokens) vocab[token] = next++;
  model["vocab"] = vocab;
  model["merges"] = merges;
  file["added_tokens"] = Json::array();
  return file;
}

std::vector<std::string> encode(const Json& file, const std::string& text) {
  const auto tokenizer = BpeTokenizer::parse(file.dump());
  if (!tokenizer) return {tokenizer.error().message()};
  std::vector<std::string> tokens;
  for (const TokenId id : (*tokenizer)->encode_plain(text)) {
    tokens.emplace_back((*tokenizer)->token_bytes(id));
  }
  return tokens;
}

using Tokens = std::vector<std::string>;

TEST(TokenizerFile, MergesInTheOrderOfTheList) {
  const auto file = small_file({"ab", "bc", "abc"}, {"b c", "a b", "ab c"});
  EXPECT_EQ(encode(file, "abc"), (Tokens{"a", "bc"}));
  EXPECT_EQ(encode(file, "ab"), (Tokens{"ab"}));
  const auto other = small_file({"ab", "bc", "abc"}, {"a b", "b c", "ab c"});
  EXPECT_EQ(encode(other, "abc"), (Tokens{"abc"}));
}

TEST(TokenizerFile, MergesEqualPairsFromTheLeft) {
  const auto file = small_file({"aa"}, {"a a"});
  EXPECT_EQ(encode(file, "aaaaa"), (Tokens{"aa", "aa", "a"}));
  // The same in a word that is long enough for the other way of merging.
  Tokens expected(50, "aa");
  expected.push_back("a");
  EXPECT_EQ(encode(file, std::string(101, 'a')), expected);
}

TEST(TokenizerFile, MergesShortAndLongWordsAlike) {
  const std::vector<std::string> tokens = {"ab", "ba", "aba", "abab", "bab", "aa", "bb"};
  const Json merges = {"a b", "b a", "ab a", "ab ab", "b ab", "a a", "b b"};
  const auto tokenizer = BpeTokenizer::parse(small_file(tokens, merges).dump());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  std::mt19937 random(20260314);
  for (int round = 0; round < 300; ++round) {
    // A space more than the border makes it long; "c" takes no part in merges.
    std::string word;
    const size_t length = 1 + random() % 40;
    for (size_t i = 0; i < length; ++i) word += random() % 2 == 0 ? 'a' : 'b';
    Ids expected = (*tokenizer)->encode_plain(word);
    const Ids filler(60, (*tokenizer)->encode_plain("c").front());
    expected.insert(expected.end(), filler.begin(), filler.end());
    EXPECT_EQ((*tokenizer)->encode_plain(word + std::string(60, 'c')), expected) << word;
  }
}

TEST(TokenizerFile, TakesBothSpellingsOfMerges) {
  EXPECT_EQ(encode(small_file({"ab"}, Json::array({Json::array({"a", "b"})})), "ab"),
            (Tokens{"ab"}));
  EXPECT_EQ(encode(small_file({"ab"}, {"a b"}), "ab"), (Tokens{"ab"}));
}

TEST(TokenizerFile, FindsWholeWordsWhenMergesAreIgnored) {
  Json file = small_file({"ab", "cab"}, {"a b"});
  EXPECT_EQ(encode(file, "cab"), (Tokens{"c", "ab"}));
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(file, "cab"), (Tokens{"cab"}));
  EXPECT_EQ(encode(file, "cabab"), (Tokens{"c", "ab", "ab"}));
}

TEST(TokenizerFile, PrefersTheLongestAddedToken) {
  Json file = small_file({}, Json::array());
  for (const auto& [content, id] :
       {std::pair("<a", 300), std::pair("<a>", 301), std::pair("a><", 302)}) {
    file["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
  }
  const auto tokenizer = BpeTokenizer::parse(file.dump());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message();
  EXPECT_EQ((*tokenizer)->encode_full("<a>"), Ids{301});
  EXPECT_EQ((*tokenizer)->encode_full("<a<a>"), (Ids{300, 301}));
  EXPECT_EQ((*tokenizer)->encode_full("a><a"), (Ids{302, (*tokenizer)->encode_plain("a").front()}));
  EXPECT_EQ((*tokenizer)->encode_plain("<a>").size(), 3U);
  EXPECT_EQ((*tokenizer)->vocab_size(), 303);
  EXPECT_EQ((*tokenizer)->token_bytes(299), "");
}

TEST(TokenizerFile, NamesTheMemberThatIsWrong) {
  Json no_bytes = tiny();
  no_bytes["model"]["vocab"].erase("a");
  Json unknown_merge = tiny();
  unknown_merge["model"]["merges"][2] = "a €";
  Json lost_merge = tiny();
  lost_merge["model"]["merges"][2] = {"z", "q"};
  Json same_id = tiny();
  same_id["model"]["vocab"]["b"] = same_id["model"]["vocab"]["a"];
  const std::vector<std::pair<Json, std::string>> cases = {
      {Json(3), "expected a JSON object"},
      {changed("/model", nullptr), "model: expected an object, got nothing"},
      {changed("/model/type", "Unigram"), "model.type: expected \"BPE\", got Unigram"},
      {changed("/model/byte_fallback", true), "model.byte_fallback: expected false, got true"},
      {changed("/model/byte_fallback", "no"), "model.byte_fallback: expected true or false"},
      {changed("/model/dropout", 0.1), "model.dropout: expected null"},
      {changed("/model/continuing_subword_prefix", "##"), "model.continuing_subword_prefix"},
      {changed("/model/end_of_word_suffix", "</w>"), "model.end_of_word_suffix"},
      {changed("/model/unk_token", 3), "model.unk_token: expected a string or null"},
      {changed("/model/ignore_merges", 1), "model.ignore_merges: expected true or false"},
      {changed("/model/vocab", Json::array()), "model.vocab: expected an object"},
      {changed("/model/vocab/a", -1), "model.vocab[\"a\"]: id: expected a token id"},
      {changed("/model/vocab/a", 1.5), "model.vocab[\"a\"]: id: expected a token id"},
      {changed("/model/vocab/a", 2000000000), "model.vocab[\"a\"]: id: expected a token id"},
      {same_id, "which is taken"},
      {no_bytes, "model.vocab: expected a token for each of the 256 bytes, got none for byte 97"},
      {changed("/model/merges", "a b"), "model.merges: expected a list"},
      {changed("/model/merges/1", "ab"), "model.merges[1]: merge: expected \"a b\""},
      {changed("/model/merges/1", "a b c"), "model.merges[1]: merge: expected \"a b\""},
      {changed("/model/merges/1", Json::array({"a", 3})),
       "model.merges[1]: merge: expected \"a b\""},
      {unknown_merge, "model.merges[2]: expected tokens spelled in the byte alphabet"},
      {lost_merge, "model.merges[2]: expected both sides and their union in model.vocab"},
      {changed("/normalizer", {{"type", "NFC"}}),
       "normalizer: expected null or an empty Sequence, got NFC"},
      {changed("/normalizer", 3), "normalizer.type: expected a string"},
      {changed("/decoder", nullptr), "decoder.type: expected a string"},
      {changed("/decoder/type", "WordPiece"), "decoder.type: expected ByteLevel, got WordPiece"},
      {changed("/pre_tokenizer", nullptr), "pre_tokenizer: expected an object"},
      {changed("/added_tokens", 3), "added_tokens: expected a list"},
      {changed("/added_tokens/1", 3), "added_tokens[1]: expected an object"},
      {changed("/added_tokens/1/id", "1"), "added_tokens[1].id: expected a token id"},
      {changed("/added_tokens/1/id", 40), "added_tokens[1].id: expected an id of its own"},
      {changed("/added_tokens/1/id", 0), "added_tokens[1].id: expected an id of its own"},
      {changed("/added_tokens/1/content", ""), "added_tokens[1]"},
      {changed("/added_tokens/1/content", nullptr), "added_tokens[1].content: expected a string"},
      {changed("/added_tokens/1/lstrip", true), "added_tokens[1].lstrip: expected false, got true"},
      {changed("/added_tokens/1", tiny()["added_tokens"][0]), "added_tokens[1]: expected a new id"},
  };
  for (const auto& [file, message] : cases) {
    const auto result = BpeTokenizer::parse(file.dump());
    ASSERT_FALSE(result) << message;
    EXPECT_NE(result.error().message().find(message), std::string::npos)
        << result.error().message() << " instead of " << message;
  }
  EXPECT_FALSE(BpeTokenizer::parse("{"));
  EXPECT_FALSE(BpeTokenizer::parse(""));
}

std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
  IncrementalDetokenizer stream(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += stream.push(id);
  return text + stream.finish();
}

/// Whatever a damaged file says, encoding and decoding end and stay in the vocabulary.
void expect_usable(const Tokenizer& tokenizer, const std::string& text) {
  for (const Ids& ids : {tokenizer.encode_plain(text), tokenizer.encode_full(text)}) {
    for (const TokenId id : ids) {
      EXPECT_GE(id, 0);
      EXPECT_LT(id, tokenizer.vocab_size());
    }
    decode(tokenizer, ids);
  }
}

std::string random_bytes(std::mt19937& random, size_t length) {
  std::string bytes(length, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(TokenizerFileRobustness, DamagedFilesNeverCrash) {
  const std::string intact = tiny_text();
  std::mt19937 random(1);
  int num_loaded = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string damaged = intact;
    for (size_t changes = 1 + random() % 2; changes > 0; --changes) {
      const size_t place = random() % damaged.size();
      const size_t length = std::min<size_t>(1 + random() % 8, damaged.size() - place);
      switch (random() % 4) {
        case 0:
          damaged[place] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(place, length);
          break;
        case 2:
          damaged.insert(place, damaged.substr(random() % damaged.size(), length));
          break;
        default:
          damaged[place] = "0123456789[]{}\",:"[random() % 17];
      }
    }
    if (round % 50 == 0) damaged.resize(random() % damaged.size());
    const auto tokenizer = BpeTokenizer::parse(damaged);
    if (!tokenizer) {
      EXPECT_FALSE(tokenizer.error().message().empty());
      continue;
    }
    ++num_loaded;
    expect_usable(**tokenizer, "The quick brown fox; 12345 <｜end▁of▁sentence｜>\n\xFF 好");
  }
  // Both ways must have been taken for the test to mean anything.
  EXPECT_GT(num_loaded, 10);
  EXPECT_LT(num_loaded, 1450);
}

TEST(TokenizerFileRobustness, ExchangedValuesNeverCrash) {
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    0,
                                    1e300,
                                    "",
                                    "a",
                                    "a b",
                                    Json::array(),
                                    Json::object(),
                                    UINT64_MAX,
                                    Json::array({"a", "b"})};
  const Json flat = tiny().flatten();
  std::mt19937 random(2);
  std::vector<std::string> pointers;
  for (const auto& [pointer, value] : flat.items()) pointers.push_back(pointer);
  for (int round = 0; round < 400; ++round) {
    Json file = tiny();
    const auto& pointer = pointers[random() % pointers.size()];
    Json::json_pointer target(pointer);
    // Also the containers above a value.
    for (size_t up = random() % 3; up > 0 && !target.empty(); --up) target.pop_back();
    file[target] = values[random() % values.size()];
    const auto tokenizer = BpeTokenizer::parse(file.dump());
    if (tokenizer) expect_usable(**tokenizer, "some text, 12 <｜▁pad▁｜>");
  }
}

TEST(TokenizerFileRobustness, AnyBytesAreText) {
  const auto tokenizer = BpeTokenizer::parse(tiny_text());
  ASSERT_TRUE(tokenizer);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const std::string bytes = random_bytes(random, random() % 300);
    std::string text;
    append_lossy(bytes, text);
    EXPECT_EQ(decode(**tokenizer, (*tokenizer)->encode_plain(bytes)), text);
    EXPECT_EQ(decode(**tokenizer, (*tokenizer)->encode_full(bytes)), text);
  }
}

}  // namespace
}  // namespace deepinfer::recipe
