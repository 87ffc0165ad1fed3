#include "recipe/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace deepinfer::recipe {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

const Json kBytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};

Json split(const Json& pattern, const char* behavior, bool invert = false) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
}

Json sequence(Json steps) {
  steps.push_back(kBytes);
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

Words words(const Json& description, const std::string& text) {
  const auto pre_tokenizer = PreTokenizer::parse(description);
  if (!pre_tokenizer) return {pre_tokenizer.error().message()};
  std::vector<Piece> pieces;
  pre_tokenizer->split(text, pieces);
  Words result;
  for (const Piece& piece : pieces)
    result.push_back(text.substr(piece.begin, piece.end - piece.begin));
  return result;
}

/// Splits at dashes in the given way.
Words dashes(const char* behavior, const std::string& text, bool invert = false) {
  return words(sequence({split({{"Regex", "-"}}, behavior, invert)}), text);
}

TEST(PreTokenizer, TreatsMatchesAsTheBehaviorSays) {
  const std::string text = "the-final--countdown";
  EXPECT_EQ(dashes("Removed", text), (Words{"the", "final", "countdown"}));
  EXPECT_EQ(dashes("Isolated", text), (Words{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(dashes("MergedWithPrevious", text), (Words{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(dashes("MergedWithNext", text), (Words{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(dashes("Contiguous", text), (Words{"the", "-", "final", "--", "countdown"}));
}

TEST(PreTokenizer, TreatsMatchesAtTheEdges) {
  EXPECT_EQ(dashes("Removed", "-a-"), (Words{"a"}));
  EXPECT_EQ(dashes("Removed", "--"), Words{});
  EXPECT_EQ(dashes("MergedWithPrevious", "-a-"), (Words{"-", "a-"}));
  EXPECT_EQ(dashes("MergedWithNext", "-a-"), (Words{"-a", "-"}));
  EXPECT_EQ(dashes("Isolated", ""), Words{});
  EXPECT_EQ(dashes("Isolated", "none"), Words{"none"});
}

TEST(PreTokenizer, ChangesMatchesAndTheRestWhenInverted) {
  EXPECT_EQ(dashes("Removed", "a-b", true), (Words{"-"}));
  EXPECT_EQ(dashes("Isolated", "a-b", true), (Words{"a", "-", "b"}));
  EXPECT_EQ(dashes("MergedWithNext", "ab-c-", true), (Words{"ab-", "c-"}));
}

TEST(PreTokenizer, TakesStringsLiterally) {
  EXPECT_EQ(words(sequence({split({{"String", ".+"}}, "Removed")}), "a.+b.c"), (Words{"a", "b.c"}));
}

TEST(PreTokenizer, EachStepSplitsWhatTheFormerLeft) {
  const Json steps = {split({{"Regex", "[0-9]{1,2}"}}, "Isolated"),
                      split({{"Regex", "\\s+(?!\\S)|\\S+"}}, "Isolated")};
  // The space before 12 ends its piece, so it is one that nothing follows.
  EXPECT_EQ(words(sequence(steps), "ab 123"), (Words{"ab", " ", "12", "3"}));
}

TEST(PreTokenizer, TakesEmptyMatchesForBorders) {
  EXPECT_EQ(words(sequence({split({{"Regex", "(?=[A-Z])"}}, "Isolated")}), "éAbÜBc"),
            (Words{"é", "AbÜ", "Bc"}));
  EXPECT_EQ(words(sequence({split({{"Regex", "x*"}}, "Isolated")}), "éx"), (Words{"é", "x"}));
}

TEST(PreTokenizer, SplitsByGpt2PatternWhenByteLevelAsksForIt) {
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  EXPECT_EQ(words(byte_level, "What's  12 apples?\n"),
            (Words{"What", "'s", " ", " 12", " apples", "?", "\n"}));
}

TEST(PreTokenizer, SplitsDigits) {
  const auto digits = [](bool individual) {
    return sequence({{{"type", "Digits"}, {"individual_digits", individual}}});
  };
  EXPECT_EQ(words(digits(true), "a12½"), (Words{"a", "1", "2", "½"}));
  EXPECT_EQ(words(digits(false), "a12½b"), (Words{"a", "12½", "b"}));
}

TEST(PreTokenizer, KnowsUnicodeWhiteSpace) {
  const auto spaces = sequence({split({{"Regex", "\\s+"}}, "Removed")});
  // White_Space has U+0085 and U+3000, but neither U+180E nor U+200B.
  EXPECT_EQ(words(spaces, "a\u0085b\u3000c\u180Ed\u200Be"), (Words{"a", "b", "c\u180Ed\u200Be"}));
  const auto others = sequence({split({{"Regex", "[^\\sx]|\\S"}}, "Isolated")});
  EXPECT_EQ(words(others, "a \u180E"), (Words{"a", " ", "\u180E"}));
}

TEST(PreTokenizer, CannotBeMadeToHangByAPattern) {
  const std::string text(64, 'a');
  EXPECT_EQ(words(sequence({split({{"Regex", "(a+)+$b|(a|aa)+c"}}, "Isolated")}), text),
            Words{text});
}

TEST(PreTokenizer, NamesTheMemberThatIsWrong) {
  const std::vector<std::pair<Json, std::string>> cases = {
      {nullptr, "pre_tokenizer: expected an object"},
      {Json::object(), "pre_tokenizer.type: expected a string"},
      {{{"type", "Whitespace"}}, "pre_tokenizer.type: expected ByteLevel last"},
      {{{"type", "ByteLevel"}}, "pre_tokenizer.add_prefix_space: expected false"},
      {{{"type", "ByteLevel"}, {"add_prefix_space", 0}},
       "add_prefix_space: expected true or false"},
      {{{"type", "Sequence"}}, "pre_tokenizer.pretokenizers: expected a list"},
      {{{"type", "Sequence"}, {"pretokenizers", Json::array()}}, "pretokenizers: expected a list"},
      {sequence(Json::array_t(40, kBytes)), "pretokenizers: expected a list of 1 to 32"},
      {sequence({kBytes}), "pretokenizers[0].type: expected ByteLevel nowhere but last"},
      {sequence({{{"type", "Metaspace"}}}), "pretokenizers[0].type: expected Split, Digits"},
      {sequence({split({{"Regex", "("}}, "Isolated")}),
       "pretokenizers[0].pattern: expected a regular"},
      {sequence({split({{"Regex", "a"}}, "Doubled")}),
       "pretokenizers[0].behavior: expected Removed"},
      {sequence({split("a", "Isolated")}), "pretokenizers[0].pattern: expected an object"},
      {sequence({split({{"Regex", 1}}, "Isolated")}),
       "pretokenizers[0].pattern: expected an object"},
  };
  for (const auto& [description, message] : cases) {
    const auto result = PreTokenizer::parse(description);
    ASSERT_FALSE(result) << description;
    EXPECT_NE(result.error().message().find(message), std::string::npos)
        << result.error().message() << " for " << description;
  }
}

}  // namespace
}  // namespace deepinfer::recipe
