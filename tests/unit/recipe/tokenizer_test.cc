#include "recipe/tokenizer.h"
#include "recipe/detokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "corpus.h"

namespace deepinfer::recipe {
namespace {

using test::CaseJson;
using test::v41_tokenizer;

using Ids = std::vector<TokenId>;

std::string decode(const Tokenizer& tokenizer, const Ids& ids) {
  IncrementalDetokenizer stream(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += stream.push(id);
  return text + stream.finish();
}

TEST(Tokenizer, AgreesWithTheReferenceOnEveryRecordedText) {
  for (const CaseJson& c : test::read_cases("tokenize")) {
    const auto& input = c.at("input");
    const auto text = input.at("text").get<std::string>();
    const bool full = input.at("mode") == "full";
    const Ids ids = full ? v41_tokenizer().encode_full(text) : v41_tokenizer().encode_plain(text);
    EXPECT_EQ(ids, c.at("expected").at("ids").get<Ids>()) << c.at("id");
  }
}

TEST(IncrementalDetokenizer, AgreesWithTheReferenceOnEveryRecordedStream) {
  for (const CaseJson& c : test::read_cases("detokenize")) {
    const auto ids = c.at("input").at("ids").get<Ids>();
    IncrementalDetokenizer stream(v41_tokenizer());
    std::vector<std::string> steps;
    std::string text;
    for (const TokenId id : ids) text += steps.emplace_back(stream.push(id));
    const auto& expected = c.at("expected");
    EXPECT_EQ(text, expected.at("text").get<std::string>()) << c.at("id");
    if (expected.contains("steps")) {
      EXPECT_EQ(steps, expected.at("steps").get<std::vector<std::string>>()) << c.at("id");
    }
  }
}

/// Ids of which the reference reports a text: the known ones up to the last that released any.
Ids reported_ids(const Ids& ids) {
  IncrementalDetokenizer stream(v41_tokenizer());
  Ids waiting;
  Ids reported;
  for (const TokenId id : ids) {
    if (!v41_tokenizer().token_bytes(id).empty()) waiting.push_back(id);
    if (stream.push(id).empty()) continue;
    reported.insert(reported.end(), waiting.begin(), waiting.end());
    waiting.clear();
  }
  return reported;
}

TEST(TokenText, AgreesWithTheReferenceOnEveryRecordedToken) {
  for (const CaseJson& c : test::read_cases("detokenize")) {
    const Ids ids = reported_ids(c.at("input").at("ids").get<Ids>());
    const auto& tokens = c.at("expected").at("tokens");
    ASSERT_EQ(ids.size(), tokens.size()) << c.at("id");
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string_view bytes = v41_tokenizer().token_bytes(ids[i]);
      const auto expected = tokens[i].at("bytes").get<std::vector<uint8_t>>();
      EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()), expected) << c.at("id");
      EXPECT_EQ(token_text(bytes), tokens[i].at("token").get<std::string>()) << c.at("id");
    }
  }
}

TEST(Tokenizer, GivesNoIdsForEmptyText) {
  EXPECT_TRUE(v41_tokenizer().encode_plain("").empty());
  EXPECT_TRUE(v41_tokenizer().encode_full("").empty());
  EXPECT_TRUE(v41_tokenizer().encode_plain({}).empty());
}

TEST(Tokenizer, KnowsItsSizeAndItsSpecialTokens) {
  const Tokenizer& tokenizer = v41_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 129280);
  EXPECT_EQ(tokenizer.special_id("</think>"), 128822);
  EXPECT_EQ(tokenizer.special_id("</thin"), std::nullopt);
  EXPECT_EQ(tokenizer.special_id("</think>>"), std::nullopt);
  EXPECT_EQ(tokenizer.special_id(""), std::nullopt);
  EXPECT_EQ(tokenizer.special_id("Hello"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(128822));
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_FALSE(tokenizer.is_special(19923));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_FALSE(tokenizer.is_special(129280));
  EXPECT_EQ(tokenizer.token_bytes(19923), "Hello");
  EXPECT_EQ(tokenizer.token_bytes(1), "<｜end▁of▁sentence｜>");
  EXPECT_EQ(tokenizer.token_bytes(-1), "");
  EXPECT_EQ(tokenizer.token_bytes(129280), "");
}

TEST(Tokenizer, FindsAddedTokensAtTheEdgesAndSideBySide) {
  const Tokenizer& tokenizer = v41_tokenizer();
  EXPECT_EQ(tokenizer.encode_full("<think></think>"), (Ids{128821, 128822}));
  EXPECT_EQ(tokenizer.encode_full("Hello</think>"), (Ids{19923, 128822}));
  EXPECT_EQ(tokenizer.encode_full("</think>Hello"), (Ids{128822, 19923}));
  EXPECT_EQ(tokenizer.encode_full("<</think>").back(), 128822);
  // Cut short, it is text.
  EXPECT_EQ(tokenizer.encode_full("</think"), tokenizer.encode_plain("</think"));
}

TEST(Tokenizer, ReadsInvalidBytesAsReplacementCharacters) {
  const Tokenizer& tokenizer = v41_tokenizer();
  EXPECT_EQ(tokenizer.encode_plain("a\xff"
                                   "b"),
            tokenizer.encode_plain("a\uFFFDb"));
  EXPECT_EQ(tokenizer.encode_full("\xE4\xBD</think>"), tokenizer.encode_full("\uFFFD</think>"));
  EXPECT_EQ(tokenizer.encode_plain("\xED\xA0\x80"), tokenizer.encode_plain("\uFFFD\uFFFD\uFFFD"));
}

/// `unit` until there are `num_bytes`.
std::string repeated(std::string_view unit, size_t num_bytes) {
  std::string text;
  while (text.size() < num_bytes) text += unit;
  return text;
}

TEST(Tokenizer, EncodesAWordOfAMegabyte) {
  // Were the time quadratic, this would run into the time limit of the test.
  const std::string word = repeated("entropy", 1 << 20);
  EXPECT_EQ(decode(v41_tokenizer(), v41_tokenizer().encode_plain(word)), word);
  EXPECT_EQ(v41_tokenizer().encode_full(word), v41_tokenizer().encode_plain(word));
}

TEST(Tokenizer, EncodesLongRunsOfEveryKindOfCharacter) {
  for (const char* unit :
       {"a", " ", "\n", " \n", "-", "哈", "é", "\u0301", "🧬", "<", "1", "½"}) {
    const std::string text = repeated(unit, 1 << 16);
    EXPECT_EQ(decode(v41_tokenizer(), v41_tokenizer().encode_plain(text)), text) << unit;
  }
}

TEST(Tokenizer, MergesLongWordsAsShortOnes) {
  // A word just over the border between the two ways of merging, cut by nothing.
  const Tokenizer& tokenizer = v41_tokenizer();
  std::string word;
  for (int i = 0; i < 200; ++i) {
    word += static_cast<char>('a' + (i * i + i / 3) % 26);
    EXPECT_EQ(decode(tokenizer, tokenizer.encode_plain(word)), word);
  }
  // Ids of the reference for a word of 64 letters.
  std::string hello;
  for (int i = 0; i < 20; ++i) hello += "哈哈哈哈";
  EXPECT_EQ(tokenizer.encode_plain(hello), Ids(20, 59327));
}

TEST(IncrementalDetokenizer, HoldsBackUnfinishedCharacters) {
  IncrementalDetokenizer stream(v41_tokenizer());
  EXPECT_EQ(stream.push(3574), "");     // F0 9F
  EXPECT_EQ(stream.push(102), "");      // A6
  EXPECT_EQ(stream.push(225), "🦀");  // 80
  EXPECT_EQ(stream.finish(), "");
}

TEST(IncrementalDetokenizer, IgnoresUnknownIds) {
  IncrementalDetokenizer stream(v41_tokenizer());
  EXPECT_EQ(stream.push(-1), "");
  EXPECT_EQ(stream.push(129280), "");
  EXPECT_EQ(stream.push(19923), "Hello");
  EXPECT_EQ(stream.finish(), "");
}

TEST(FieldCase, S01_DeltasNeverCutACharacterAndATruncatedTailIsFlushed) {
  const Tokenizer& tokenizer = v41_tokenizer();
  const std::string text = "é 👩‍👩‍👧‍👦 好 🧬🦀 龘";
  // Every character byte by byte, the hardest way to cut it.
  Ids ids;
  for (const char byte : text) {
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.token_bytes(id) != std::string_view(&byte, 1)) continue;
      ids.push_back(id);
      break;
    }
  }
  ASSERT_EQ(ids.size(), text.size());
  IncrementalDetokenizer stream(tokenizer);
  std::string joined;
  for (const TokenId id : ids) {
    const std::string delta = stream.push(id);
    EXPECT_EQ(delta.find("\uFFFD"), std::string::npos);
    joined += delta;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(stream.finish(), "");
  stream.push(3574);
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Tokenizer, LoadsTheTinyCheckpoints) {
  for (const auto& [dir, size] :
       {std::pair("tests/data/tiny-a", 512), std::pair("tests/data/tiny-b", 448)}) {
    const auto tokenizer = Tokenizer::load(dir);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message();
    EXPECT_EQ((*tokenizer)->vocab_size(), size);
    const std::string text = "What's the weather?\n\n  你好 🧬";
    EXPECT_EQ(decode(**tokenizer, (*tokenizer)->encode_plain(text)), text);
  }
}

TEST(Tokenizer, SaysWhichFileIsMissing) {
  const auto tokenizer = Tokenizer::load("tests/data/nowhere");
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().code(), StatusCode::kNotFound);
  EXPECT_NE(tokenizer.error().message().find("nowhere/tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::recipe
