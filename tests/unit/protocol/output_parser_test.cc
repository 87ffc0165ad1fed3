#include "recipe/output_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "support.h"

namespace deepinfer::protocol::test {
namespace {

const Json kThinking = {{"thinking", {{"type", "enabled"}}}, {"stream", true}};
const Json kPlain = {{"thinking", {{"type", "disabled"}}}, {"stream", true}};

Json with(Json base, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    base[name] = value;
  }
  return base;
}

Json tools(const std::vector<std::string>& names = {"f"}) {
  Json list = Json::array();
  for (const std::string& name : names) {
    Json function = {{"name", name}};
    list.push_back({{"type", "function"}, {"function", function}});
  }
  return {{"tools", list}};
}

void expect_message_equals_deltas(const Played& played) {
  EXPECT_EQ(played.message().value("content", ""), played.content);
  EXPECT_EQ(played.message().value("reasoning_content", ""), played.reasoning);
  ASSERT_EQ(played.finish_reasons.size(), 1U);
  EXPECT_EQ(played.response["choices"][0]["finish_reason"], played.finish_reasons[0]);
}

/// Ids of calls are made up anew each time.
Json without_call_ids(Json message) {
  if (message.contains("tool_calls")) {
    for (Json& call : message["tool_calls"]) {
      call.erase("id");
    }
  }
  return message;
}

TEST(FieldCase, S01_CharactersSplitOverTokensStayWhole) {
  const std::string text = "a é 漢字 👩‍👩‍👧 🫠 z";
  for (const size_t group : {1, 2, 3, 0}) {
    const Played played = play(kPlain, script(text), group);
    EXPECT_EQ(played.content, text);
    for (const Json& chunk : played.chunks) {
      EXPECT_EQ(chunk.dump().find("\xEF\xBF\xBD"), std::string::npos);
    }
    expect_message_equals_deltas(played);
  }
}

TEST(FieldCase, S01_AnUnfinishedCharacterIsFlushedAtTheEnd) {
  std::vector<TokenId> tokens = script("a🫠");
  tokens.pop_back();
  EXPECT_EQ(play(kPlain, tokens).content, "a\xEF\xBF\xBD");
}

TEST(FieldCase, S20_EveryGroupingGivesTheSameMessage) {
  const Json request = with(with(kThinking, tools({"f", "g"})), {{"stop", {"STOP"}}});
  const std::vector<TokenId> tokens = script(
      "plan\n\n</think>\n\nSTO answer\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n"
      "<｜DSML｜ parameter name=\"a\" string=\"true\">x\ny</｜DSML｜ parameter>\n"
      "<｜DSML｜ parameter name=\"b\" string=\"false\">[1, 2]</｜DSML｜ parameter>\n"
      "</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>");
  const Played whole = play(request, tokens, 0);
  EXPECT_EQ(whole.reasoning, "plan");
  EXPECT_EQ(whole.content, "STO answer");
  EXPECT_EQ(whole.arguments, (std::vector<std::string>{R"({"a": "x\ny", "b": [1, 2]})", "{}"}));
  for (const size_t group : {1, 2, 3, 7}) {
    const Played played = play(request, tokens, group);
    EXPECT_EQ(played.content, whole.content);
    EXPECT_EQ(played.reasoning, whole.reasoning);
    EXPECT_EQ(played.arguments, whole.arguments);
    EXPECT_EQ(played.names, whole.names);
    EXPECT_EQ(played.finish_reasons, whole.finish_reasons);
    EXPECT_EQ(played.response["usage"], whole.response["usage"]);
    expect_message_equals_deltas(played);
  }
}

TEST(FieldCase, S19_S20_RandomScriptsAndGroupingsAgreeWithThePlainAnswer) {
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {
      "a",
      "\n",
      "\n\n",
      " word",
      "</think>",
      "<think>",
      "<",
      "</",
      "｜DSML｜",
      "<｜DSML｜",
      "</｜DSML｜",
      " calls>",
      "invoke name=\"f\">",
      "parameter name=\"k\" string=\"true\">",
      "🫠",
      "parameter name=\"k\" string=\"false\">",
      "STOP",
      "ST",
      "{\"a\": 1}",
      "\"",
      "tool_calls>",
      "<｜User｜>",
      " invoke name=\"",
      ">",
  };
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) {
      text += pieces[random() % pieces.size()];
    }
    Json request = random() % 2 == 0 ? kThinking : kPlain;
    request["stop"] = Json::array({"STOP", "\n\nx"});
    if (random() % 4 != 0) {
      request = with(request, tools());
    }
    const std::vector<TokenId> tokens = script(text);
    const Played whole = play(request, tokens, 0);
    const Played plain = play(with(request, {{"stream", false}}), tokens, 2);
    EXPECT_TRUE(plain.chunks.empty());
    EXPECT_EQ(without_call_ids(plain.message()), without_call_ids(whole.message())) << text;
    EXPECT_EQ(plain.response["usage"], whole.response["usage"]) << text;
    EXPECT_EQ(plain.response["choices"][0]["finish_reason"], whole.finish_reasons[0]) << text;
    for (const size_t group : {1, 3}) {
      const Played played = play(request, tokens, group);
      EXPECT_EQ(played.content, whole.content) << text;
      EXPECT_EQ(played.reasoning, whole.reasoning) << text;
      EXPECT_EQ(played.arguments, whole.arguments) << text;
      EXPECT_EQ(played.finish_reasons, whole.finish_reasons) << text;
      EXPECT_EQ(played.content.find("DSML"), std::string::npos) << text;
      EXPECT_EQ(played.content.find("think>"), std::string::npos) << text;
      expect_message_equals_deltas(played);
    }
  }
}

TEST(FieldCase, R01_OutputStartsInsideReasoningWhenThePromptOpensIt) {
  const Played played = play(kThinking, script("plan</think>answer"));
  EXPECT_EQ(played.reasoning, "plan");
  EXPECT_EQ(played.content, "answer");
}

TEST(FieldCase, R02_TextBeforeTheFirstClosingMarkerIsReasoning) {
  for (const std::string text :
       {"plan</think>x", "<think>plan</think>x", "<think><think>plan</think>x"}) {
    const Played played = play(kThinking, script(text));
    EXPECT_EQ(played.reasoning, "plan") << text;
    EXPECT_EQ(played.content, "x") << text;
    expect_message_equals_deltas(played);
  }
}

TEST(FieldCase, R03_WithoutThinkingThereIsNoReasoningKey) {
  for (const Json& request : {kPlain, Json{{"reasoning_effort", "none"}, {"stream", true}}}) {
    const Played played = play(request, script("hello"));
    EXPECT_EQ(played.content, "hello");
    EXPECT_FALSE(played.message().contains("reasoning_content"));
    for (const Json& chunk : played.chunks) {
      EXPECT_EQ(chunk.dump().find("reasoning"), std::string::npos);
    }
  }
}

TEST(FieldCase, R04_WithoutTheClosingMarkerTheTextStaysReasoning) {
  const Played ended = play(kThinking, script("Good morning"));
  EXPECT_EQ(ended.reasoning, "Good morning");
  EXPECT_EQ(ended.content, "");
  EXPECT_EQ(ended.finish_reasons, std::vector<std::string>{"stop"});
  const Played cut = play(kThinking, script("Good morning"), 1, FinishReason::kLength);
  EXPECT_EQ(cut.finish_reasons, std::vector<std::string>{"length"});
  expect_message_equals_deltas(cut);
}

TEST(FieldCase, R05_ToolsAndThinkingTogether) {
  const Played text = play(with(kThinking, tools()), script("r</think>It is sunny"));
  EXPECT_EQ(text.reasoning, "r");
  EXPECT_EQ(text.content, "It is sunny");
}

TEST(FieldCase, R06_ACallRightAfterTheReasoning) {
  for (const std::string gap : {"", "\n", "\n\n"}) {
    const Played played = play(with(kThinking, tools()),
                               script("r</think>" + gap +
                                      "<｜DSML｜ calls>\n<｜DSML｜ invoke "
                                      "name=\"f\">\n\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"));
    EXPECT_EQ(played.names, std::vector<std::string>{"f"});
    EXPECT_EQ(played.content, "");
    EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"});
  }
}

TEST(FieldCase, R11_StopsApplyToTheVisibleAnswerOnly) {
  const Played played = play(with(kThinking, {{"stop", {"Question:"}}}),
                             script("Question: restated</think>42 Question: x"));
  EXPECT_EQ(played.reasoning, "Question: restated");
  EXPECT_EQ(played.content, "42 ");
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"stop"});
}

TEST(FieldCase, R12_NothingOfAStopOrMarkerIsInTheContent) {
  const Json request = with(kThinking, {{"stop", {"\nObservation"}}});
  std::vector<TokenId> three = script("r</think>go");
  for (const char* piece : {"\n", "Obser", "vation", ": x"}) {
    const auto ids = script(piece);
    three.insert(three.end(), ids.begin(), ids.end());
  }
  for (const std::vector<TokenId>& tokens : {script("r</think>go\nObservation: x"), three}) {
    for (const size_t group : {1, 2, 0}) {
      const Played played = play(request, tokens, group);
      EXPECT_EQ(played.reasoning, "r");
      EXPECT_EQ(played.content, "go");
      EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"stop"});
      expect_message_equals_deltas(played);
    }
  }
}

TEST(FieldCase, R13_ReasoningThatUsesUpTheLimitIsCounted) {
  const Played played =
      play(kThinking, std::vector<TokenId>(20, script("a")[0]), 1, FinishReason::kLength);
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"length"});
  EXPECT_EQ(played.content, "");
  EXPECT_EQ(played.response["usage"]["completion_tokens_details"]["reasoning_tokens"], 20);
}

TEST(FieldCase, W01_StopStringsOfSeveralTokensNeverLeak) {
  const Json request = with(kPlain, {{"stop", {"Observation:"}}});
  std::vector<TokenId> bytewise;
  for (const char c : std::string("go Observation: no")) {
    const auto ids = script(std::string(1, c));
    bytewise.insert(bytewise.end(), ids.begin(), ids.end());
  }
  const Played played = play(request, bytewise);
  EXPECT_EQ(played.content, "go ");
  EXPECT_EQ(played.response["usage"]["completion_tokens"], 15);
  EXPECT_EQ(play(request, script("go Obser vation")).content, "go Obser vation");
}

TEST(FieldCase, W01_AStopStringInOneToFiveTokensLeavesNothing) {
  const Json request = with(kPlain, {{"stop", {"Observation:"}}});
  const std::vector<std::vector<std::string>> kSplits = {{"Observation:"},
                                                         {"Observation", ":"},
                                                         {"Obser", "vation", ":"},
                                                         {"Ob", "ser", "vation", ":"},
                                                         {"O", "b", "ser", "vation", ":"}};
  for (const auto& pieces : kSplits) {
    recipe::OutputParser parser(nullptr, {}, {.stop_sequences = {"Observation:"}}, {});
    std::vector<recipe::MessageDelta> out;
    parser.push_text("go ", out);
    for (const std::string& piece : pieces) {
      parser.push_text(piece, out);
    }
    parser.finish(true, out);
    EXPECT_TRUE(parser.stopped()) << pieces.size();
    std::string text;
    for (const recipe::MessageDelta& delta : out) {
      text += delta.text;
    }
    EXPECT_EQ(text, "go ") << pieces.size();
    std::vector<TokenId> tokens = script("go ");
    for (const std::string& piece : pieces) {
      const auto ids = script(piece);
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    }
    EXPECT_EQ(play(request, tokens).content, "go ") << pieces.size();
  }
}

TEST(FieldCase, W01_AFalseStartIsReleasedAsSoonAsItCannotMatch) {
  recipe::OutputParser parser(&v41_recipe().tokenizer(), v41_recipe().control(),
                              {.stop_sequences = {"Observation:"}}, {.hide_markup = true});
  std::vector<recipe::MessageDelta> out;
  parser.push_tokens(script("Obs"), out);
  EXPECT_TRUE(out.empty());
  parser.push_tokens(script("cure"), out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].text, "Obscure");
}

TEST(OutputParser, KeepsMarkersSpelledByOrdinaryTokens) {
  std::vector<TokenId> tokens;
  for (const TokenId id : v41_recipe().tokenizer().encode_plain("a</think>b <｜DSML｜ calls>")) {
    tokens.push_back(id);
  }
  EXPECT_EQ(play(with(kPlain, tools()), tokens).content, "a</think>b <｜DSML｜ calls>");
}

TEST(OutputParser, SaysWhichTokensAPieceCameFrom) {
  recipe::OutputParser parser(&v41_recipe().tokenizer(), v41_recipe().control(), {},
                              {.hide_markup = true, .exact_tokens = true});
  std::vector<recipe::MessageDelta> out;
  const std::vector<TokenId> tokens = script("\nab cd");
  parser.push_tokens(std::span(tokens).first(1), out);
  EXPECT_TRUE(out.empty());
  parser.push_tokens(std::span(tokens).subspan(1), out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0].token_begin, 1U);
  EXPECT_EQ(out[0].token_end, tokens.size());
}

/// What pieces of text release one by one, in the answer of a request with tools.
std::vector<std::string> released(const std::vector<std::string>& pieces,
                                  std::vector<std::string> stops) {
  recipe::ParsingOptions options;
  options.parse_tool_calls = true;
  options.stop_sequences = std::move(stops);
  recipe::OutputParser parser(nullptr, {}, options, {});
  std::vector<std::string> texts;
  for (const std::string& piece : pieces) {
    std::vector<recipe::MessageDelta> deltas;
    parser.push_text(piece, deltas);
    std::string& text = texts.emplace_back();
    for (const recipe::MessageDelta& delta : deltas) {
      text += delta.text;
    }
  }
  return texts;
}

TEST(OutputParser, LineFeedsWaitOnlyForWhatMayOpenCalls) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(released({"a\n", "b", "c"}, {"beta"}), (Texts{"a", "\n", "bc"}));
  EXPECT_EQ(released({"a\n", "</th", "x"}, {}), (Texts{"a", "\n", "</thx"}));
  EXPECT_EQ(released({"a\n", "<", "x"}, {}), (Texts{"a", "", "\n<x"}));
  // Here the line feed may begin the stop sequence and stand before a call at once.
  EXPECT_EQ(released({"a\n\n", "<", "x"}, {"\n<y"}), (Texts{"a", "", "\n\n<x"}));
}

TEST(OutputParser, ALineFeedThatEndsAFalseBeginningStays) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(released({"a<\n", "b"}, {}), (Texts{"a<\n", "b"}));
  EXPECT_EQ(released({"a<\n", "\n", "<｜DSML｜"}, {}), (Texts{"a<\n", "", ""}));
  EXPECT_EQ(released({"a</\n", "b"}, {}), (Texts{"a</", "\nb"}));
}

/// The reasoning and the answer of text that begins as reasoning.
std::pair<std::string, std::string> thought(const std::vector<std::string>& pieces, bool tools) {
  recipe::ParsingOptions options;
  options.parse_tool_calls = tools;
  options.thinking_initial_stage = recipe::ThinkingStage::kReasoningStart;
  recipe::OutputParser parser(nullptr, {}, options, {});
  std::vector<recipe::MessageDelta> deltas;
  for (const std::string& piece : pieces) {
    parser.push_text(piece, deltas);
  }
  std::pair<std::string, std::string> texts;
  for (const recipe::MessageDelta& delta : deltas) {
    const bool reasoning = delta.kind == recipe::MessageDelta::Kind::kReasoning;
    (reasoning ? texts.first : texts.second) += delta.text;
  }
  return texts;
}

TEST(OutputParser, EveryMarkerLooksForItsOwnFalseBeginning) {
  using Texts = std::pair<std::string, std::string>;
  EXPECT_EQ(thought({"a\n", "</think>b"}, true), (Texts{"a", "b"}));
  EXPECT_EQ(thought({"a<\n</think>b"}, false), (Texts{"a<\n", "b"}));
  EXPECT_EQ(thought({"a</thin", "\n\n", "</think>b"}, true), (Texts{"a</thin\n", "b"}));
  EXPECT_EQ(thought({"a</thin\n", "<｜DSML｜"}, true), (Texts{"a</thin", ""}));
  EXPECT_EQ(thought({"a<｜D\n", "</think>b"}, true), (Texts{"a<｜D", "b"}));
  EXPECT_EQ(thought({"a<｜D\n", "<｜DSML｜"}, true), (Texts{"a<｜D\n", ""}));
}

/// Tokens (positions) that a run of ids is reported with, by the rules of the reference.
std::vector<std::pair<uint32_t, uint32_t>> spans(const std::vector<std::vector<TokenId>>& runs,
                                                 const recipe::ParsingOptions& options) {
  recipe::OutputParser parser(&v41_recipe().tokenizer(), v41_recipe().control(), options, {});
  std::vector<recipe::MessageDelta> deltas;
  for (const std::vector<TokenId>& run : runs) {
    parser.push_tokens(run, deltas);
  }
  std::vector<std::pair<uint32_t, uint32_t>> spans;
  for (const recipe::MessageDelta& delta : deltas) {
    spans.emplace_back(delta.token_begin, delta.token_end);
  }
  return spans;
}

TEST(OutputParser, ARunThatEndsInsideACharacterWaitsAsAWhole) {
  using Spans = std::vector<std::pair<uint32_t, uint32_t>>;
  const std::vector<TokenId> split = script("🫠");  // several tokens
  ASSERT_GT(split.size(), 1U);
  const std::vector<TokenId> rest(split.begin() + 1, split.end());
  const auto all = static_cast<uint32_t>(1 + split.size());
  const std::vector<TokenId> line_feed = {script("\n\n").front(), split.front()};
  EXPECT_EQ(spans({line_feed, rest}, {}), (Spans{{0, all}}));
  const std::vector<TokenId> letter = {script("x").front(), split.front()};
  EXPECT_EQ(spans({letter}, {}), Spans());
  EXPECT_EQ(spans({letter, rest}, {}), (Spans{{0, all}}));
}

TEST(OutputParser, AFurtherEndOfReasoningBeforeJsonIsNoText) {
  recipe::ParsingOptions options;
  options.parse_json_output = true;
  EXPECT_EQ(spans({script("</think>{")}, options),
            (std::vector<std::pair<uint32_t, uint32_t>>{{1, 2}}));
}

}  // namespace
}  // namespace deepinfer::protocol::test
