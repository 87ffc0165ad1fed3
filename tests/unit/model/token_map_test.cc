#include "model/token_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/golden/golden_file.h"

namespace deepinfer::model {
namespace {

using testing::HasSubstr;

TEST(TokenMap, EqualsRecordedMapsOfTheTinyCheckpoints) {
  for (const std::string dir : {"tests/data/tiny-a", "tests/data/tiny-b"}) {
    const golden::File file = golden::load(dir);
    const auto map = load_token_map(dir);
    ASSERT_TRUE(map.has_value()) << map.error().message();
    EXPECT_EQ(map->compressed, file.token_map) << dir;
    EXPECT_EQ(map->num_compressed, file.compressed_vocab) << dir;
  }
}

TEST(TokenMap, CompressesTheReleasedVocabularyTo99092) {
  const auto map = load_token_map("tests/data/tokenizer-v4.1");
  ASSERT_TRUE(map.has_value()) << map.error().message();
  EXPECT_EQ(map->compressed.size(), 129280U);
  EXPECT_EQ(map->num_compressed, 99092);
}

TEST(CompressedKey, IgnoresCaseMarksAndCompatibilityForms) {
  EXPECT_EQ(compressed_key("Hello"), "hello");
  EXPECT_EQ(compressed_key("\xc3\x83\xc2\xa9"), "e");           // é as its two bytes
  EXPECT_EQ(compressed_key("\xef\xac\x81x"), "fix");            // ligature fi, outside the alphabet
  EXPECT_EQ(compressed_key("\xef\xbc\xa1\xef\xbc\xa2"), "ab");  // full-width AB
  EXPECT_EQ(compressed_key("\xc4\xb0"), compressed_key("\xc4\xb0"));
  EXPECT_EQ(compressed_key("a\xe0\xa4\x83z"), "az");  // spacing mark (Mc)
  EXPECT_EQ(compressed_key("a\xe2\x83\x9dz"), "az");  // enclosing mark (Me)
}

TEST(CompressedKey, SqueezesAndStripsWhiteSpace) {
  EXPECT_EQ(compressed_key("\xc4\xa0hi"), "hi");       // leading space
  EXPECT_EQ(compressed_key("\xc4\xa0"), " ");          // exactly one space stays
  EXPECT_EQ(compressed_key("\xc4\xa0\xc4\xa0"), " ");  // a run becomes one
  EXPECT_EQ(compressed_key("\xc4\x8a"), " ");          // line feed too
  EXPECT_EQ(compressed_key("a\xc4\xa0\xc4\x89\xc4\x8d\xc4\x8a"
                           "b"),
            "a b");
  EXPECT_EQ(compressed_key("\xe3\x80\x80\xe4\xb8\xad\xe3\x80\x80"), "\xe4\xb8\xad");
  EXPECT_EQ(compressed_key("\xc4\xa0\xc4\x8b"), "\x20\x0b");  // nothing left: as it was
  EXPECT_EQ(compressed_key("\xc4\x9c"
                           "x"),
            "\x1c"
            "x");  // U+001C is no white space
}

TEST(CompressedKey, KeepsSpellingsThatAreNotText) {
  EXPECT_EQ(compressed_key("\xc3\xa4"), "\xc3\xa4");  // byte E4 alone
  EXPECT_EQ(compressed_key("\xc3\xad\xc3\x82\xc4\xa2"), "\xc3\xad\xc3\x82\xc4\xa2");
  EXPECT_EQ(compressed_key("\xef\xbf\xbd"), "\xef\xbf\xbd");  // U+FFFD itself
  EXPECT_EQ(compressed_key(""), "");
}

TEST(TokenMap, NumbersKeysByFirstAppearanceAndIncludesAddedTokens) {
  const auto map = parse_token_map(
      R"({"model":{"vocab":{"b":0,"A":1,"a":2,"B":3}},"added_tokens":[{"id":4,"content":"<s>"}]})");
  ASSERT_TRUE(map.has_value()) << map.error().message();
  EXPECT_EQ(map->compressed, (std::vector<int32_t>{0, 1, 1, 0, 2}));
  EXPECT_EQ(map->num_compressed, 3);
}

TEST(TokenMap, RefusesDamagedTokenizers) {
  const auto error = [](const std::string& text) {
    const auto map = parse_token_map(text);
    return map.has_value() ? std::string("no error") : map.error().message();
  };
  EXPECT_THAT(error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("{}"), HasSubstr("model.vocab"));
  EXPECT_THAT(error(R"({"model":{"vocab":[]}})"), HasSubstr("model.vocab"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":-1}}})"), HasSubstr("expected token ids, found -1"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":0,"b":0}}})"), HasSubstr("id 0 is given twice"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":0,"b":2}}})"), HasSubstr("none has id 1"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":0}},"added_tokens":[5]})"),
              HasSubstr("objects with id and content"));
  EXPECT_THAT(error(R"({"model":{"vocab":{"a":0}},"added_tokens":{}})"), HasSubstr("a list"));
}

}  // namespace
}  // namespace deepinfer::model
