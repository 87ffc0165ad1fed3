// Group T of the field cases: tool calls and the model's markup.

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "support.h"

namespace deepinfer::protocol::test {
namespace {

Json request(bool thinking = false) {
  Json list = Json::array();
  for (const char* name : {"f", "g"}) {
    Json function = {{"name", name}};
    list.push_back({{"type", "function"}, {"function", function}});
  }
  return {{"thinking", {{"type", thinking ? "enabled" : "disabled"}}},
          {"stream", true},
          {"tools", list}};
}

std::string parameter(const std::string& key, const std::string& is_string,
                      const std::string& value) {
  return "<｜DSML｜ parameter name=\"" + key + "\" string=\"" + is_string + "\">" + value +
         "</｜DSML｜ parameter>\n";
}

std::string invoke(const std::string& name, const std::string& parameters) {
  return "<｜DSML｜ invoke name=\"" + name + "\">\n" + parameters + "</｜DSML｜ invoke>\n";
}

std::string block(const std::string& calls) {
  return "<｜DSML｜ calls>\n" + calls + "</｜DSML｜ calls>";
}

/// Arguments of the only call, the same streamed and plain, for several groupings.
std::string arguments_of(const std::string& output) {
  std::string arguments;
  for (const size_t group : {1, 2, 0}) {
    const Played played = play(request(), script(output), group);
    EXPECT_EQ(played.arguments.size(), 1U) << output;
    EXPECT_EQ(played.content, "");
    const Json calls = played.message().value("tool_calls", Json::array());
    EXPECT_EQ(calls.size(), 1U);
    if (played.arguments.size() != 1 || calls.size() != 1) {
      return "no call";
    }
    arguments = played.arguments[0];
    EXPECT_EQ(calls[0]["function"]["arguments"], arguments);
    EXPECT_EQ(calls[0]["id"], played.ids[0]);
  }
  return arguments;
}

/// Arguments of the only call when its text comes in two pieces, the same wherever it is cut.
std::string arguments_of_split_text(const std::string& output) {
  std::string arguments;
  for (size_t cut = 0; cut <= output.size(); ++cut) {
    recipe::ParsingOptions options;
    options.parse_tool_calls = true;
    recipe::OutputParser parser(nullptr, {}, options,
                                {.hide_markup = true, .typed_arguments = true});
    std::vector<recipe::MessageDelta> deltas;
    parser.push_text(output.substr(0, cut), deltas);
    parser.push_text(output.substr(cut), deltas);
    parser.finish(true, deltas);
    std::string found;
    for (const recipe::MessageDelta& delta : deltas) {
      EXPECT_NE(delta.kind, recipe::MessageDelta::Kind::kContent) << cut << delta.text;
      found += delta.kind == recipe::MessageDelta::Kind::kCallArguments ? delta.text : "";
    }
    EXPECT_TRUE(cut == 0 || found == arguments) << cut << found;
    arguments = found;
  }
  return arguments;
}

TEST(FieldCase, T01_ClosingTagsNeverReachTheArguments) {
  const std::string output = block(invoke("f", parameter("a", "true", "ls 2>&1")));
  EXPECT_EQ(arguments_of(output), R"({"a": "ls 2>&1"})");
  EXPECT_EQ(arguments_of_split_text(output), R"({"a": "ls 2>&1"})");
}

TEST(FieldCase, T02_TextLikeAClosingTagIsKept) {
  for (const std::string value : {"x>", "x<", "x</", "x|", "x｜", "x<｜", "x</parameter>",
                                  "x</DSML parameter>", "x</| parameter>"}) {
    const std::string output = block(invoke("f", parameter("a", "true", value)));
    EXPECT_EQ(Json::parse(arguments_of(output))["a"], value);
    EXPECT_EQ(Json::parse(arguments_of_split_text(output))["a"], value);
    const Played played = play(request(true), script("r</think>" + output));
    ASSERT_EQ(played.arguments.size(), 1U) << value;
    EXPECT_EQ(Json::parse(played.arguments[0])["a"], value);
    EXPECT_EQ(played.reasoning, "r");
  }
}

TEST(FieldCase, T03_MalformedMarkupIsHiddenInBothModes) {
  for (const std::string output :
       {"<｜DSML｜ calls>\n", "<｜DSML｜ calls>\n<｜DSML｜ invoke name=",
        "<｜DSML｜ calls>\n<｜DSML｜ invoke>\n</｜DSML｜ invoke>\n", "<｜DSML｜"}) {
    const Played played = play(request(), script("hi\n" + output));
    EXPECT_EQ(played.content, "hi") << output;
    EXPECT_TRUE(played.names.empty());
    EXPECT_FALSE(played.message().contains("tool_calls"));
    EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"stop"});
  }
}

TEST(FieldCase, T03_ACallThatNeverEndsIsLeftOut) {
  const Played played =
      play(request(), script("<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter "
                             "name=\"a\" string=\"true\">xy"));
  EXPECT_FALSE(played.message().contains("tool_calls"));
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"stop"});
}

TEST(FieldCase, T03_AnEndAnywhereLeavesNoMarkup) {
  const std::vector<TokenId> tokens =
      script("hi\n\n" + block(invoke("f", parameter("a", "true", "1")) + invoke("g", "")));
  for (size_t length = 0; length <= tokens.size(); ++length) {
    const std::vector<TokenId> head(tokens.begin(), tokens.begin() + static_cast<long>(length));
    const Played played = play(request(), head);
    // What may still become markup is text at the end: line feeds and a lone `<`.
    EXPECT_EQ(played.content.substr(0, 2), length == 0 ? "" : "hi") << length;
    EXPECT_LE(played.content.size(), 5U) << played.content;
    EXPECT_EQ(played.content.find("DSML"), std::string::npos) << played.content;
    EXPECT_EQ(played.message()["content"], played.content) << length;
    const Json calls = played.message().value("tool_calls", Json::array());
    EXPECT_LE(calls.size(), played.names.size()) << length;
    ASSERT_EQ(played.finish_reasons.size(), 1U);
    EXPECT_EQ(played.finish_reasons[0], calls.empty() ? "stop" : "tool_calls") << length;
    EXPECT_EQ(played.response["choices"][0]["finish_reason"], played.finish_reasons[0]);
    for (const Json& call : calls) {
      EXPECT_TRUE(Json::parse(call["function"]["arguments"].get<std::string>()).is_object());
    }
  }
}

TEST(FieldCase, T04_DamagedWrappersDoNotLoseAWholeCall) {
  const std::string call = invoke("f", parameter("a", "true", "1"));
  for (const std::string& output :
       {"<｜DSML｜ call>\n" + call + "</｜DSML｜ calls>", "<｜DSML｜toolcalls>\n" + call,
        "<｜DSML｜tool_call>\n" + call + "</｜DSML｜tool_call>", call,
        "｜DSML｜ invoke name=\"f\">\n" + parameter("a", "true", "1") + "</｜DSML｜ invoke>"}) {
    EXPECT_EQ(arguments_of(output), R"({"a": "1"})") << output;
  }
}

TEST(FieldCase, T05_AnyMarkupEndsAValue) {
  EXPECT_EQ(arguments_of("<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter "
                         "name=\"a\" string=\"true\">v<｜DSML｜/parametr>\n" +
                         parameter("b", "false", "2") + "</｜DSML｜ invoke>\n</｜DSML｜ calls>"),
            R"({"a": "v", "b": 2})");
  EXPECT_EQ(Json::parse(arguments_of(
                block(invoke("f", parameter("a", "true", "if a < b && c </x> & d")))))["a"],
            "if a < b && c </x> & d");
}

TEST(FieldCase, T05_WhatFollowsAMisspeltTagIsNoPartOfTheValue) {
  std::string tail;
  for (int i = 0; i < 2500; ++i) {
    tail += " go on";
  }
  const Played played =
      play(request(),
           script("<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter "
                  "name=\"a\" string=\"true\">v</｜DSML｜ paramter>\n" +
                  tail),
           7, FinishReason::kLength);
  ASSERT_EQ(played.arguments.size(), 1U);
  EXPECT_EQ(played.arguments[0].substr(0, 8), R"({"a": "v)");
  EXPECT_EQ(played.arguments[0].find("go on"), std::string::npos);
  EXPECT_EQ(played.content, "");
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"length"});
}

TEST(FieldCase, T06_ValuesMarkedAsJsonKeepTheirTypes) {
  // `f` is declared without parameters; what is not declared at all is no different.
  const std::string values = parameter("count", "false", "5") +
                             parameter("config", "false", "{\"a\":1}") +
                             parameter("flag", "false", "true") + parameter("x", "false", "null");
  for (const char* name : {"f", "undeclared"}) {
    EXPECT_EQ(arguments_of(block(invoke(name, values))),
              R"({"count": 5, "config": {"a":1}, "flag": true, "x": null})");
  }
}

TEST(FieldCase, T07_TheStringAttributeDecides) {
  const std::vector<std::string> values = {"5", "true", "{\"a\":1}", "", "\"q\"", "a\nb\tc\\d"};
  for (const std::string& value : values) {
    EXPECT_EQ(Json::parse(arguments_of(block(invoke("f", parameter("a", "true", value)))))["a"],
              value);
  }
}

TEST(FieldCase, T07_InvalidJsonFallsBackToAString) {
  for (const std::string value : {"not json", "{\"a\":", "", "1 2"}) {
    const std::string output = block(invoke("f", parameter("a", "false", value)));
    EXPECT_EQ(Json::parse(arguments_of(output))["a"], value);
    PreparedCompletion prepared = prepare(chat_body(request()));
    prepared.assembler->push(0, {.tokens = script(output)});
    EXPECT_EQ(prepared.assembler->invalid_arguments(), 1U);
  }
  EXPECT_EQ(arguments_of(block(invoke("f", parameter("a", "false", R"({"b": [true]})")))),
            R"({"a": {"b": [true]}})");
}

TEST(FieldCase, T07_KeysAreEscapedAndAMissingAttributeIsTolerated) {
  EXPECT_EQ(Json::parse(arguments_of(block(invoke("f", parameter("a\"b c", "true", "x"))))),
            (Json{{"a\"b c", "x"}}));
  EXPECT_EQ(
      arguments_of(block(invoke("f",
                                "<｜DSML｜ parameter name=\"a\">5</｜DSML｜ parameter>\n"
                                "<｜DSML｜ parameter name=\"b\">five</｜DSML｜ parameter>\n"))),
      R"({"a": 5, "b": "five"})");
}

TEST(FieldCase, T09_EachCallIsAllOrNothing) {
  const Played played = play(
      request(), script(block(invoke("f", parameter("a", "true", "1")) +
                              "<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter nome=\"a\">2" +
                              "<｜DSML｜ parameter name=b string=true>")));
  const Json calls = played.message()["tool_calls"];
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0]["function"]["name"], "f");
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"});
}

TEST(FieldCase, T09_QuotedMarkupInOrdinaryCharactersIsNoCall) {
  const std::string quoted =
      "Write\n```\n" + block(invoke("f", parameter("a", "true", "1"))) + "\n```\nto call.";
  for (const size_t group : {1, 3, 0}) {
    const Played played = play(request(), v41_recipe().tokenizer().encode_plain(quoted), group);
    EXPECT_EQ(played.content, quoted);
    EXPECT_TRUE(played.names.empty());
    EXPECT_EQ(played.message()["content"], quoted);
  }
}

TEST(FieldCase, T10_BothDialectsAreParsedInAllSplits) {
  for (const std::string& output :
       {block(invoke("f", parameter("a", "true", "1"))),
        std::string("<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter "
                    "name=\"a\" string=\"true\">1</｜DSML｜parameter>\n</｜DSML｜invoke>\n"
                    "</｜DSML｜tool_calls>")}) {
    EXPECT_EQ(arguments_of(output), R"({"a": "1"})");
    EXPECT_EQ(arguments_of_split_text(output), R"({"a": "1"})");
  }
}

/// Ordinary text in tokens of single characters, control tokens whole.
std::vector<TokenId> in_characters(const std::string& output) {
  std::vector<TokenId> tokens;
  for (size_t at = 0; at < output.size();) {
    size_t length = 1;
    while (at + length < output.size() && (output[at + length] & 0xC0) == 0x80) {
      ++length;
    }
    for (const std::string_view control : {"｜DSML｜", "</think>"}) {
      length = output.compare(at, control.size(), control) == 0 ? control.size() : length;
    }
    const std::vector<TokenId> ids = script(output.substr(at, length));
    tokens.insert(tokens.end(), ids.begin(), ids.end());
    at += length;
  }
  return tokens;
}

TEST(FieldCase, T10_DoubledBarsAroundTheControlTokenAreTolerated) {
  const std::string spaced = block(invoke("f", parameter("a", "true", "x<｜")));
  const std::string compact =
      "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
      "string=\"true\">x<｜</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>";
  for (const std::string& dialect : {spaced, compact}) {
    for (const std::string mark : {"｜DSML｜", "｜｜DSML｜｜", "｜｜DSML｜", "｜DSML｜｜"}) {
      std::string markup = dialect;
      for (size_t at = 0; (at = markup.find("｜DSML｜", at)) != std::string::npos;) {
        markup.replace(at, std::strlen("｜DSML｜"), mark);
        at += mark.size();
      }
      EXPECT_EQ(arguments_of(markup), R"({"a": "x<｜"})");
      const std::string output = "r</think>hi\n\n" + markup;
      for (const size_t group : {1, 2, 3, 0}) {
        for (const std::vector<TokenId>& tokens : {script(output), in_characters(output)}) {
          const Played played = play(request(true), tokens, group);
          EXPECT_EQ(played.reasoning, "r") << mark << group;
          EXPECT_EQ(played.content, "hi") << mark << group;
          EXPECT_EQ(played.arguments, std::vector<std::string>{R"({"a": "x<｜"})"}) << mark;
          EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"}) << mark;
        }
      }
    }
  }
}

TEST(FieldCase, T10_TheAnswerGoesOnBehindABlockOfDoubledBarsWithoutCalls) {
  for (const std::string name : {"tool_calls", " calls"}) {
    for (const std::string mark : {"｜DSML｜", "｜｜DSML｜｜", "｜｜DSML｜", "｜DSML｜｜"}) {
      const std::string output = "<" + mark + name + ">\n</" + mark + name + ">\n\nafter";
      for (const size_t group : {1, 2, 0}) {
        EXPECT_EQ(play(request(), script(output), group).content, "after") << output << group;
        EXPECT_EQ(play(request(), in_characters(output), group).content, "after") << output;
      }
    }
  }
}

TEST(FieldCase, T10_BarsWithoutTheControlTokenAreText) {
  for (const std::string text : {"a <｜", "a <｜b｜>", "a </｜ b", "｜", "<｜\n<｜"}) {
    for (const size_t group : {1, 2, 0}) {
      const Played played = play(request(), script(text), group);
      EXPECT_EQ(played.content, text);
      EXPECT_EQ(played.message()["content"], text);
    }
  }
}

TEST(FieldCase, T12_TheLastChunkSaysToolCalls) {
  const Played played = play(request(), script(block(invoke("f", ""))));
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"});
  EXPECT_EQ(played.response["choices"][0]["finish_reason"], "tool_calls");
}

TEST(FieldCase, T13_ACallCutByTheLimitIsLeftOutOfThePlainAnswer) {
  const std::string first = invoke("f", parameter("a", "true", "1"));
  for (const std::string cut :
       {"<｜DSML｜ invoke name=\"g", "<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"k",
        "<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"k\" string=\"true\">val", ""}) {
    const Played played =
        play(request(), script("<｜DSML｜ calls>\n" + first + cut), 1, FinishReason::kLength);
    EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"length"});
    const Json calls = played.message()["tool_calls"];
    ASSERT_EQ(calls.size(), 1U) << cut;
    EXPECT_EQ(calls[0]["function"]["arguments"], R"({"a": "1"})");
    EXPECT_EQ(played.arguments[0], R"({"a": "1"})");
  }
}

TEST(FieldCase, T12_TheEndTokenComesInAStepOfItsOwn) {
  for (const size_t group : {1, 0}) {
    const Played played = play(request(), script(block(invoke("f", ""))), group);
    EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"});
    EXPECT_EQ(played.chunks.back()["choices"][0]["finish_reason"], "tool_calls");
  }
}

TEST(FieldCase, T14_ParallelCallsCountUpAndNameThemselvesOnce) {
  std::string calls;
  for (int i = 0; i < 5; ++i) {
    calls += invoke(i % 2 == 0 ? "f" : "g", parameter("i", "false", std::to_string(i)));
  }
  const Played played = play(request(), script(block(calls)));
  ASSERT_EQ(played.arguments.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(played.arguments[i], "{\"i\": " + std::to_string(i) + "}");
  }
  for (const Json& chunk : played.chunks) {
    for (const Json& choice : chunk["choices"]) {
      for (const Json& call : choice["delta"].value("tool_calls", Json::array())) {
        EXPECT_EQ(call.contains("id"), call.contains("type"));
        EXPECT_EQ(call.contains("id"), call["function"].contains("name"));
      }
    }
  }
}

TEST(FieldCase, T15_CallIdsAreUniqueAndTheSameEverywhere) {
  std::set<std::string> seen;
  for (int round = 0; round < 20; ++round) {
    const Played played =
        play(request(true), script("</think>" + block(invoke("f", "") + invoke("f", ""))));
    ASSERT_EQ(played.ids.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(seen.insert(played.ids[i]).second);
      EXPECT_EQ(played.message()["tool_calls"][i]["id"], played.ids[i]);
    }
  }
}

TEST(FieldCase, T17_WithToolChoiceNoneMarkupIsHiddenAndNoCallReturned) {
  Json body = request();
  body["tool_choice"] = "none";
  const Played played =
      play(body, script("hi\n\n" + block(invoke("f", parameter("a", "true", "1")))));
  EXPECT_EQ(played.content, "hi");
  EXPECT_TRUE(played.names.empty());
  EXPECT_FALSE(played.message().contains("tool_calls"));
  EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"stop"});
}

TEST(ToolCalls, SchemasOfToolsThatAreNotInUseAreNotLookedAt) {
  Json body = request();
  body["tools"][0]["function"]["parameters"] = "a b";
  EXPECT_EQ(refusal(chat_body(body)).param(), "tools[0].function.parameters");
  body["tools"].push_back(body["tools"][0]);
  body["tool_choice"] = "none";
  prepare(chat_body(body));
  body["tools"][1]["function"]["name"] = "no name";
  EXPECT_EQ(refusal(chat_body(body)).param(), "tools[1].function.name");
}

TEST(FieldCase, T18_T20_StreamedAndPlainAnswersAgreeWithProseAndACall) {
  const std::string output =
      "think a bit</think>\nI will look.\n\n" + block(invoke("f", parameter("a", "true", "1")));
  const Played played = play(request(true), script(output));
  EXPECT_EQ(played.reasoning, "think a bit");
  EXPECT_EQ(played.content, "I will look.");
  EXPECT_EQ(played.message()["content"], "I will look.");
  EXPECT_EQ(played.message()["tool_calls"][0]["function"]["arguments"], R"({"a": "1"})");
  EXPECT_TRUE(played.response.contains("choices"));
}

TEST(ToolCalls, WithoutParallelCallsTheFirstWholeOneEndsTheAnswer) {
  const std::string first = invoke("f", parameter("a", "true", "1"));
  const std::string output = "look</think>I see.\n\n" + block(first + first) + "more";
  Json body = request(true);
  body["parallel_tool_calls"] = false;
  for (const size_t group : {1, 3, 0}) {
    const Played played = play(body, script(output), group);
    EXPECT_EQ(played.content, "I see.");
    EXPECT_EQ(played.names, std::vector<std::string>{"f"});
    EXPECT_EQ(played.arguments, std::vector<std::string>{R"({"a": "1"})"});
    EXPECT_EQ(played.finish_reasons, std::vector<std::string>{"tool_calls"});
    EXPECT_EQ(played.message()["tool_calls"].size(), 1U);
  }
  const Played both = play(request(true), script(output));
  EXPECT_EQ(both.message()["tool_calls"].size(), 2U);
}

TEST(ToolCalls, WithoutParallelCallsTheGenerationIsNotNeededAnyMore) {
  Json body = request();
  body["parallel_tool_calls"] = false;
  PreparedCompletion prepared = prepare(chat_body(body));
  const std::string call = invoke("f", parameter("a", "true", "1"));
  TokenOutput output;
  output.tokens = script(block(call));
  output.tokens.resize(output.tokens.size() - script("</｜DSML｜ calls>").size());
  prepared.assembler->push(0, output);
  EXPECT_TRUE(prepared.assembler->choice_done(0));
}

TEST(ToolCalls, AStrayClosingTagDoesNotSwallowTheAnswer) {
  EXPECT_EQ(play(request(), script("a\n</｜DSML｜ calls>b")).content, "ab");
}

}  // namespace
}  // namespace deepinfer::protocol::test
