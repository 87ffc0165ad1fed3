#include "recipe/utf8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "recipe/byte_alphabet.h"

namespace deepinfer::recipe {
namespace {

std::string lossy(std::string_view bytes) {
  std::string out;
  append_lossy(bytes, out);
  return out;
}

TEST(Utf8, KnowsTheLengthOfCompleteCharacters) {
  EXPECT_EQ(utf8_character_length(""), 0U);
  EXPECT_EQ(utf8_character_length("a"), 1U);
  EXPECT_EQ(utf8_character_length("éa"), 2U);
  EXPECT_EQ(utf8_character_length("好"), 3U);
  EXPECT_EQ(utf8_character_length("🧬"), 4U);
  EXPECT_EQ(utf8_character_length("\xF0\x9F\xA7"), 0U);
  EXPECT_EQ(utf8_character_length("\x80"), 0U);
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndLargeValues) {
  for (const char* bytes :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_valid_utf8(bytes));
  }
  for (const char* bytes : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                            "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "", "plain ascii text"}) {
    EXPECT_TRUE(is_valid_utf8(bytes));
  }
  EXPECT_FALSE(is_valid_utf8("sixteen letters.\xFF"));
  EXPECT_FALSE(is_valid_utf8("seven..\xE5\xA5"));
}

TEST(Utf8, ReplacesEachMaximalInvalidPart) {
  EXPECT_EQ(lossy("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(lossy("\xE5\xA5"), "\uFFFD");
  EXPECT_EQ(lossy("\xE5\xA5z"), "\uFFFDz");
  EXPECT_EQ(lossy("\xF0\x9F\xA7\xF0\x9F\xA7\xAC"), "\uFFFD🧬");
  EXPECT_EQ(lossy("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\x80\x80"), "\uFFFD\uFFFD");
}

TEST(Utf8, SeesWhetherTextEndsInAWholeCharacter) {
  for (const char* bytes : {"a", "é", "好", "🧬", "\x80🧬", "\xF0\x9F好"}) {
    EXPECT_TRUE(ends_in_whole_character(bytes)) << bytes;
  }
  for (const char* bytes :
       {"", "\x80", "a\x80", "好\x80", "\xF0\x9F\xA7", "a\xE5", "\x80\x80\x80\x80\x80"}) {
    EXPECT_FALSE(ends_in_whole_character(bytes)) << bytes;
  }
}

TEST(ByteAlphabet, MapsStandInsToTheirBytes) {
  EXPECT_EQ(bytes_of_spelling("Ġthe"), " the");
  EXPECT_EQ(bytes_of_spelling("Ċ"), "\n");
  EXPECT_EQ(bytes_of_spelling("å¥½"), "好");
  EXPECT_EQ(bytes_of_spelling("Ā"), std::string(1, '\0'));
  EXPECT_EQ(bytes_of_spelling(""), "");
  EXPECT_EQ(bytes_of_spelling("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("｜"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("ń"), std::nullopt);  // U+0144, the first behind the alphabet
  EXPECT_EQ(bytes_of_spelling("\xC4"), std::nullopt);
}

TEST(ByteAlphabet, HasAStandInForEveryByte) {
  std::string seen;
  for (int code_point = 0; code_point < 0x150; ++code_point) {
    std::string spelling;
    if (code_point < 0x80) {
      spelling = static_cast<char>(code_point);
    } else {
      spelling = {static_cast<char>(0xC0 | (code_point >> 6)),
                  static_cast<char>(0x80 | (code_point & 0x3F))};
    }
    if (const auto bytes = bytes_of_spelling(spelling)) seen += *bytes;
  }
  std::sort(seen.begin(), seen.end(), [](char a, char b) {
    return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
  });
  ASSERT_EQ(seen.size(), 256U);
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(static_cast<unsigned char>(seen[i]), i);
}

}  // namespace
}  // namespace deepinfer::recipe
