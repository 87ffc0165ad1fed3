#include <string>

#include "tests/unit/constraint/harness.h"

namespace deepinfer::constraint::testing {
namespace {

using Kind = ConstraintSpec::Kind;

TEST(ConstraintState, TakesOneObjectForJsonObject) {
  const ConstraintSpec spec{.kind = Kind::kJsonObject};
  EXPECT_TRUE(matches(spec, R"({})"));
  EXPECT_TRUE(matches(spec, R"({"a": [1, -2.5e3, true, null, {"b": "c\n"}]})"));
  EXPECT_FALSE(matches(spec, R"([1])"));
  EXPECT_FALSE(matches(spec, R"({"a": 01})"));
  EXPECT_FALSE(matches(spec, R"({"a": 1} x)"));
}

TEST(ConstraintState, AllowsTheEndOnlyWhereTheOutputIsComplete) {
  ConstraintState state(compiled({.kind = Kind::kJsonObject}));
  EXPECT_FALSE(allows(state, kEos));
  EXPECT_EQ(walk(state, bytes_of(R"({"a":1)")), 6U);
  EXPECT_FALSE(state.may_end());
  EXPECT_FALSE(allows(state, kEos));
  EXPECT_TRUE(state.accept('}'));
  EXPECT_TRUE(state.may_end());
  EXPECT_FALSE(state.ended());
  EXPECT_TRUE(state.accept(kEos));
  EXPECT_TRUE(state.ended());
  EXPECT_FALSE(state.accept('x'));
}

TEST(ConstraintState, TakesTokensOfSeveralCharacters) {
  ConstraintState state(compiled({.kind = Kind::kJsonObject}));
  EXPECT_TRUE(allows(state, kOpensString));
  EXPECT_TRUE(state.accept(kOpensString));
  EXPECT_EQ(walk(state, bytes_of(R"(a":1})")), 5U);
}

TEST(ConstraintState, ControlTokensAreNoText) {
  ConstraintState state(compiled({.kind = Kind::kJsonObject}));
  ASSERT_EQ(walk(state, bytes_of(R"({"a":")")), 6U);
  for (const TokenId control : {kMarker, kThinkEnd, kEos}) {
    EXPECT_FALSE(allows(state, control));
  }
  EXPECT_TRUE(allows(state, kSpelledMarker));
}

TEST(ConstraintState, BoundsWhiteSpace) {
  const ConstraintSpec spec = schema_spec(R"({"type":"object","properties":{"a":{"type":"integer"}},
    "required":["a"]})");
  EXPECT_TRUE(matches(spec, "{  \"a\" :\n 1 }"));
  EXPECT_FALSE(matches(spec, "{   \"a\":1}"));
  EXPECT_FALSE(matches(spec, "{\"a\":   1}"));
  EXPECT_FALSE(matches(spec, " {\"a\":1}"));
}

TEST(FieldCase, G01_AModelThatLovesWhiteSpaceStillClosesItsObject) {
  const ConstraintSpec spec =
      schema_spec(R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"},
    "maxItems":1},"b":{"type":"boolean"}},"required":["a","b"],"additionalProperties":false})");
  for (const char white : {' ', '\n', '\t'}) {
    ConstraintState state(compiled(spec));
    const std::string output = written_by_a_lover_of(white, state);
    EXPECT_TRUE(state.ended()) << output;
    EXPECT_EQ(longest_run(output, white), 2U) << output;
  }
}

TEST(FieldCase, G01_AnyJsonObjectIsClosedToo) {
  ConstraintState state(compiled({.kind = Kind::kJsonObject}));
  const std::string output = written_by_a_lover_of('\n', state);
  EXPECT_TRUE(state.ended());
  EXPECT_EQ(longest_run(output, '\n'), 2U) << output;
}

TEST(ConstraintState, RegexIsForTheWholeOutput) {
  const ConstraintSpec spec{.kind = Kind::kRegex, .text = "[a-c]{2,3}-\\d+"};
  EXPECT_TRUE(matches(spec, "abc-17"));
  EXPECT_FALSE(matches(spec, "a-17"));
  EXPECT_FALSE(matches(spec, "xabc-17"));
  EXPECT_FALSE(matches(spec, "abc-"));
}

TEST(ConstraintState, GrammarAndChoice) {
  const ConstraintSpec grammar{.kind = Kind::kGrammar,
                               .text = "root ::= \"a\" item+\nitem ::= [0-9]"};
  EXPECT_TRUE(matches(grammar, "a07"));
  EXPECT_FALSE(matches(grammar, "a"));
  const ConstraintSpec choice{.kind = Kind::kChoice, .choices = {"yes", "say \"no\"\n", "\\x"}};
  EXPECT_TRUE(matches(choice, "yes"));
  EXPECT_TRUE(matches(choice, "say \"no\"\n"));
  EXPECT_TRUE(matches(choice, "\\x"));
  EXPECT_FALSE(matches(choice, "ye"));
  EXPECT_FALSE(matches(choice, "no"));
}

TEST(ConstraintState, BeginsBehindTheReasoning) {
  const ConstraintSpec spec{.kind = Kind::kJsonObject, .starts_after = kThinkEnd};
  ConstraintState state(compiled(spec));
  EXPECT_TRUE(state.waiting());
  EXPECT_THAT(state.banned_while_waiting(), ::testing::ElementsAre(kEos));
  EXPECT_FALSE(state.accept(kEos));
  EXPECT_EQ(walk(state, bytes_of("let me {think")), 13U);
  EXPECT_TRUE(state.accept(kThinkEnd));
  EXPECT_FALSE(state.waiting());
  EXPECT_FALSE(allows(state, 'l'));
  EXPECT_EQ(walk(state, bytes_of("{}")), 2U);
  EXPECT_TRUE(state.may_end());
}

TEST(ConstraintState, RollsBackThroughTheReasoning) {
  const ConstraintSpec spec{.kind = Kind::kJsonObject, .starts_after = kThinkEnd};
  ConstraintState state(compiled(spec));
  std::vector<TokenId> tokens = bytes_of("hm");
  tokens.push_back(kThinkEnd);
  const std::vector<TokenId> answer = bytes_of(R"({"a":1})");
  tokens.insert(tokens.end(), answer.begin(), answer.end());
  ASSERT_EQ(walk(state, tokens), tokens.size());
  state.rollback(2);
  EXPECT_FALSE(state.may_end());
  EXPECT_EQ(walk(state, bytes_of("22}")), 3U);
  EXPECT_TRUE(state.may_end());
  state.rollback(state.num_accepted() - 2);
  EXPECT_TRUE(state.waiting());
  EXPECT_TRUE(state.accept('x'));
  EXPECT_TRUE(state.accept(kThinkEnd));
  EXPECT_EQ(walk(state, bytes_of("{}")), 2U);
  state.accept(kEos);
  EXPECT_TRUE(state.ended());
  state.rollback(1);
  EXPECT_FALSE(state.ended());
  EXPECT_TRUE(state.may_end());
}

TEST(ConstraintState, ForksAreApartAndResetBeginsAnew) {
  ConstraintState state(compiled({.kind = Kind::kRegex, .text = "ab|ac"}));
  ASSERT_TRUE(state.accept('a'));
  ConstraintState other = state.fork();
  EXPECT_TRUE(state.accept('b'));
  EXPECT_FALSE(state.accept('c'));
  EXPECT_TRUE(other.accept('c'));
  state.reset();
  EXPECT_EQ(state.num_accepted(), 0);
  EXPECT_EQ(walk(state, bytes_of("ac")), 2U);
}

}  // namespace
}  // namespace deepinfer::constraint::testing
