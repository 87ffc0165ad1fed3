#include <string>

#include "tests/unit/constraint/harness.h"

namespace deepinfer::constraint::testing {
namespace {

using ::testing::HasSubstr;

ConstraintSpec calls(std::vector<ConstrainedTool> tools) {
  return {.kind = ConstraintSpec::Kind::kToolCalls,
          .tools = std::move(tools),
          .markup = {.marker = kMarker, .block = " calls", .space = " "},
          .begins_in_block = true,
          .param = "tool_choice"};
}

const ConstrainedTool kWeather = {
    .name = "weather", .parameters = R"({"type":"object","properties":{"city":{"type":"string"},
      "days":{"type":"integer"},"unit":{"enum":["c","f"]}},"required":["city","days"]})"};
const ConstrainedTool kNow = {.name = "now", .parameters = "{}"};

std::string call(const std::string& name, const std::string& parameters) {
  return "<~ invoke name=\"" + name + "\">\n" + parameters + "</~ invoke>\n";
}
std::string parameter(const std::string& name, const std::string& is_string,
                      const std::string& value) {
  return "<~ parameter name=\"" + name + "\" string=\"" + is_string + "\">" + value +
         "</~ parameter>\n";
}
const std::string kEnd = "</~ calls>";
const std::string kCity = parameter("city", "true", "S\xC3\xA3o <b> </ \"Paulo\"");
const std::string kDays = parameter("days", "false", "3");

bool calls_match(const ConstraintSpec& spec, const std::string& text) {
  return matches(spec, markup(text));
}

TEST(ToolGrammar, TakesOneOrMoreDeclaredCalls) {
  const ConstraintSpec spec = calls({kWeather, kNow});
  EXPECT_TRUE(calls_match(spec, call("weather", kCity + kDays) + kEnd));
  EXPECT_TRUE(calls_match(spec, call("now", "") + call("weather", kCity + kDays) + kEnd));
  EXPECT_FALSE(calls_match(spec, kEnd));
  EXPECT_FALSE(calls_match(spec, call("other", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, call("now", "")));
  EXPECT_FALSE(calls_match(spec, call("now", "") + kEnd + "x"));
}

TEST(FieldCase, G10_WhiteSpaceInStrictCallsIsBoundedAsInSchemas) {
  const ConstrainedTool tool{.name = "f",
                             .parameters = R"({"type":"object","properties":{"a":{"type":"object",
      "properties":{"b":{"type":"array","items":{"type":"integer"},"maxItems":1}},
      "required":["b"],"additionalProperties":false}},"required":["a"],
      "additionalProperties":false})",
                             .strict = true};
  ConstraintSpec spec = calls({tool});
  spec.single_call = true;
  for (const char white : {' ', '\n'}) {
    ConstraintState state(compiled(spec));
    const std::string output = written_by_a_lover_of(white, state);
    EXPECT_TRUE(state.ended()) << output;
    EXPECT_LE(longest_run(output, white), 2U) << output;
  }
}

TEST(ToolGrammar, ParametersAreThoseOfTheSchema) {
  const ConstraintSpec spec = calls({kWeather});
  EXPECT_TRUE(
      calls_match(spec, call("weather", kCity + kDays + parameter("unit", "true", "c")) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("weather", kCity) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("weather", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, call("weather", kCity + kCity + kDays) + kEnd));
  EXPECT_FALSE(
      calls_match(spec, call("weather", kCity + kDays + parameter("unit", "true", "k")) + kEnd));
  EXPECT_FALSE(
      calls_match(spec, call("weather", kCity + kDays + parameter("odd", "true", "c")) + kEnd));
}

TEST(FieldCase, T08_TheGrammarAdmitsOnlyTheAttributeOfTheDeclaredType) {
  const ConstraintSpec spec = calls({kWeather});
  EXPECT_FALSE(calls_match(spec, call("weather", parameter("city", "false", "1") + kDays) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("weather", kCity + parameter("days", "true", "3")) + kEnd));
  EXPECT_FALSE(
      calls_match(spec, call("weather", kCity + parameter("days", "false", "3.5")) + kEnd));
  ConstraintState state(compiled(spec));
  const auto before = markup("<~ invoke name=\"weather\">\n<~ parameter name=\"city\" string=\"");
  ASSERT_EQ(walk(state, before), before.size());
  EXPECT_TRUE(allows(state, 't'));
  EXPECT_FALSE(allows(state, 'f'));
}

TEST(ToolGrammar, UnionsCarryTheAttributeOfEachKind) {
  const ConstraintSpec spec =
      calls({{.name = "f",
              .parameters = R"({"type":"object","properties":{"x":{"anyOf":[{"type":"string"},
          {"type":"null"},{"$ref":"#/$defs/list"}]}},"required":["x"],
          "$defs":{"list":{"type":"array","items":{"enum":["a",1]}}}})",
              .strict = true}});
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "true", "free")) + kEnd));
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "false", "null")) + kEnd));
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "false", "[\"a\", 1]")) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("f", parameter("x", "false", "[2]")) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("f", parameter("x", "false", "\"quoted\"")) + kEnd));
}

TEST(ToolGrammar, AnyValueIsTextOrOtherJson) {
  const ConstraintSpec spec = calls(
      {{.name = "f", .parameters = R"({"type":"object","properties":{"x":{}},"required":["x"]})"}});
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "true", "text")) + kEnd));
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "false", "{\"a\":[1]}")) + kEnd));
  EXPECT_FALSE(calls_match(spec, call("f", parameter("x", "false", "text")) + kEnd));
}

TEST(ToolGrammar, RestrictedStringsStandWithoutQuotes) {
  const ConstraintSpec spec =
      calls({{.name = "f",
              .parameters =
                  R"({"type":"object","properties":{"p":{"type":"string","pattern":"^[a-z]{2}$"},
          "d":{"type":"string","format":"date"},"l":{"type":"string","maxLength":2}},
          "required":["p","d","l"]})",
              .strict = true}});
  const auto all = [](const std::string& p, const std::string& d, const std::string& l) {
    return call("f",
                parameter("p", "true", p) + parameter("d", "true", d) + parameter("l", "true", l)) +
           kEnd;
  };
  EXPECT_TRUE(calls_match(spec, all("ab", "2024-02-29", "")));
  EXPECT_FALSE(calls_match(spec, all("abc", "2024-02-29", "")));
  EXPECT_FALSE(calls_match(spec, all("ab", "2024-13-29", "")));
  EXPECT_FALSE(calls_match(spec, all("ab", "2024-12-29", "xyz")));
}

TEST(FieldCase, V18_ToolsWithoutParametersAreCalledWithNone) {
  for (const char* schema :
       {"{}", R"({"type":"object"})", R"({"type":"object","properties":{}})"}) {
    const ConstraintSpec spec = calls({{.name = "now", .parameters = schema}});
    EXPECT_TRUE(calls_match(spec, call("now", "") + kEnd));
    EXPECT_TRUE(calls_match(spec, call("now", "\n") + kEnd)) << "the encoding writes an empty line";
    EXPECT_FALSE(calls_match(spec, call("now", parameter("a", "true", "b")) + kEnd));
  }
}

TEST(ToolGrammar, ASingleCallIsExactlyOne) {
  ConstraintSpec spec = calls({kNow});
  spec.single_call = true;
  EXPECT_TRUE(calls_match(spec, call("now", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, call("now", "") + call("now", "") + kEnd));
}

TEST(ToolGrammar, OnlyTheControlTokenOpensATag) {
  const ConstraintSpec spec = calls({kNow});
  ConstraintState state(compiled(spec));
  ASSERT_TRUE(state.accept('<'));
  EXPECT_FALSE(allows(state, kSpelledMarker));
  EXPECT_TRUE(allows(state, kMarker));
  // Inside a value the spelling is text, and only the token ends it.
  ConstraintState value(compiled(calls({kWeather})));
  auto tokens =
      markup("<~ invoke name=\"weather\">\n<~ parameter name=\"city\" string=\"true\">a</");
  tokens.push_back(kSpelledMarker);
  ASSERT_EQ(walk(value, tokens), tokens.size());
  EXPECT_FALSE(allows(value, kMarker));
}

TEST(FieldCase, R06_TheCallComesBehindTheReasoningWithAndWithoutLineFeeds) {
  ConstraintSpec spec = calls({kNow});
  spec.begins_in_block = false;
  spec.starts_after = kThinkEnd;
  for (const char* feeds : {"", "\n", "\n\n"}) {
    std::vector<TokenId> tokens = bytes_of("long reasoning < here");
    tokens.push_back(kThinkEnd);
    const auto block = markup(feeds + std::string("<~ calls>\n") + call("now", "") + kEnd);
    tokens.insert(tokens.end(), block.begin(), block.end());
    EXPECT_TRUE(matches(spec, tokens));
  }
  ConstraintState state(compiled(spec));
  EXPECT_THAT(state.banned_while_waiting(), ::testing::UnorderedElementsAre(kEos, kMarker));
  EXPECT_FALSE(state.accept(kMarker));
}

TEST(ToolGrammar, UnforcedCallsAreFreeTextUntilTheyOpen) {
  ConstraintSpec spec = calls({kNow});
  spec.begins_in_block = false;
  spec.call_required = false;
  EXPECT_TRUE(calls_match(spec, "just text"));
  EXPECT_TRUE(calls_match(spec, "text\n\n<~ calls>\n" + call("now", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, "text\n\n<~ calls>\n" + call("then", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, "text\n\n<~ calls>\n" + kEnd));
}

TEST(ToolGrammar, TheOtherDialect) {
  ConstraintSpec spec = calls({kNow});
  spec.markup = {.marker = kMarker, .block = "tool_calls", .space = ""};
  EXPECT_TRUE(calls_match(spec, "<~invoke name=\"now\">\n</~invoke>\n</~tool_calls>"));
}

TEST(FieldCase, T04_GuidedCallsCannotBeDamaged) {
  ConstraintSpec spec = calls({kNow});
  spec.begins_in_block = false;
  EXPECT_FALSE(calls_match(spec, "<~calls>\n" + call("now", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, "<~ call>\n" + call("now", "") + kEnd));
  EXPECT_FALSE(calls_match(spec, call("now", "") + kEnd));
}

TEST(ToolGrammar, StrictToolsRefuseWhatOthersLeaveFree) {
  const std::string schema =
      R"({"type":"object","properties":{"x":{"type":"array","items":{},"uniqueItems":true}},"required":["x"]})";
  ConstraintSpec spec = calls({{.name = "f", .parameters = schema}});
  EXPECT_TRUE(calls_match(spec, call("f", parameter("x", "true", "anything")) + kEnd));
  spec.tools[0].strict = true;
  EXPECT_THAT(refusal(spec), HasSubstr("tool `f`"));
  EXPECT_THAT(refusal(spec), HasSubstr("`uniqueItems`"));
  EXPECT_THAT(
      refusal(calls({{.name = "f", .parameters = R"({"type":"object","properties":{"a b":{}}})"}})),
      HasSubstr("parameter `a b`"));
}

}  // namespace
}  // namespace deepinfer::constraint::testing
