// Groups R, T and L of the field cases through the whole server: reasoning and tool calls, plain
// and streamed, on every chat-like endpoint.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "endpoints.h"

namespace deepinfer::server {
namespace {

using testing::Answer;
using testing::AnsweredCall;
using testing::chat_endpoints;
using testing::Endpoint;
using testing::endpoints;
using testing::get_text;
using testing::Json;
using testing::post_text;
using testing::RawResponse;
using testing::read_plain;
using testing::read_stream;
using testing::StreamedAnswer;

constexpr char kScenario[] = R"({
  "HELLO": [{"text": "hello", "per_token": true}],
  "MORNING": [{"text": "Good morning", "per_token": true}],
  "SUNNY": [{"text": "r</think>It is sunny", "per_token": true}],
  "THIRTY": [{"text": " a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b</think>yes", "per_token": true}],
  "STOPPED": [{"text": "Question: restated</think>42 Question: x", "per_token": true}],
  "BARECALL": [{"text": "r</think><｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "LINECALL": [{"text": "r</think>\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "GAPCALL": [{"text": "r</think>\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "PROSECALL": [{"text": "think a bit</think>\nI look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x y</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"n\" string=\"false\">[1, 2]</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "BADVALUE": [{"text": "</think><｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"false\">not json</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "FIVECALLS": [{"text": "</think><｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"i\" string=\"false\">0</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"i\" string=\"false\">1</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"i\" string=\"false\">2</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"i\" string=\"false\">3</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"i\" string=\"false\">4</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}]
})";

Json merged(Json base, const Json& more) {
  base.update(more);
  return base;
}

/// The tools `f` and `g` as `endpoint` wants them.
Json tools_of(const Endpoint& endpoint) {
  const Json schema = {{"type", "object"}, {"properties", Json::object()}};
  Json list = Json::array();
  for (const char* name : {"f", "g"}) {
    Json tool = {{"name", name}};
    tool[endpoint.path == "/v1/messages" ? "input_schema" : "parameters"] = schema;
    if (endpoint.path == "/v1/chat/completions") {
      tool = {{"type", "function"}, {"function", tool}};
    } else if (endpoint.input == "input") {
      tool["type"] = "function";
    }
    list.push_back(tool);
  }
  return {{"tools", list}};
}

class FieldCaseOutputs : public testing::ChatFixture {
 protected:
  FieldCaseOutputs() { scenario_ = kScenario; }

  /// The answer of a thinking model, which both modes give alike.
  Answer ask(const Endpoint& endpoint, const std::string& text, const Json& more = Json::object()) {
    Json body = endpoint.body(text, more);
    const std::string off = endpoint.no_thinking.begin().key();
    if (!more.contains(off)) {
      body.erase(off);
    }
    const RawResponse plain_response = exchange(post_text(endpoint.path, body.dump()));
    EXPECT_EQ(plain_response.status, 200) << plain_response.body;
    body["stream"] = true;
    const RawResponse response = exchange(post_text(endpoint.path, body.dump()));
    EXPECT_EQ(response.status, 200) << response.body;
    if (plain_response.status != 200 || response.status != 200) {
      return {};
    }
    const Answer plain = read_plain(plain_response.body);
    const StreamedAnswer stream = read_stream(response.body);
    EXPECT_TRUE(stream.well_formed) << response.body;
    EXPECT_EQ(stream.text, plain.text) << endpoint.path << text;
    EXPECT_EQ(stream.reasoning, plain.reasoning) << endpoint.path << text;
    EXPECT_EQ(stream.ending, plain.ending) << endpoint.path << text;
    EXPECT_EQ(stream.calls.size(), plain.calls.size()) << endpoint.path << text;
    for (size_t i = 0; i < std::min(stream.calls.size(), plain.calls.size()); ++i) {
      EXPECT_EQ(stream.calls[i].name, plain.calls[i].name);
      EXPECT_EQ(Json::parse(stream.calls[i].arguments), Json::parse(plain.calls[i].arguments));
    }
    EXPECT_EQ((plain.text + plain.reasoning).find("think>"), std::string::npos);
    EXPECT_EQ((plain.text + plain.reasoning).find("DSML"), std::string::npos);
    return plain;
  }
};

TEST_F(FieldCaseOutputs, R03_WithThinkingOffTheTextIsTheAnswer) {
  start();
  const std::vector<std::pair<Endpoint, Json>> kWays = {
      {endpoints()[0], {{"thinking", {{"type", "disabled"}}}}},
      {endpoints()[0], {{"reasoning_effort", "none"}, {"thinking", nullptr}}},
      {endpoints()[1], {{"thinking", {{"type", "disabled"}}}}},
      {endpoints()[2], {{"reasoning", {{"effort", "none"}}}}},
  };
  for (const auto& [endpoint, way] : kWays) {
    const Answer answer = ask(endpoint, "HELLO", way);
    EXPECT_EQ(answer.text, "hello") << endpoint.path << way;
    EXPECT_EQ(answer.reasoning, "") << endpoint.path << way;
  }
  const std::string plain = exchange(endpoints()[0].post("HELLO")).body;
  EXPECT_FALSE(Json::parse(plain)["choices"][0]["message"].contains("reasoning_content"));
}

TEST_F(FieldCaseOutputs, R04_WithoutTheMarkerTheTextStaysReasoning) {
  start();
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Answer ended = ask(endpoint, "MORNING");
    EXPECT_EQ(ended.reasoning, "Good morning") << endpoint.path;
    EXPECT_EQ(ended.text, "") << endpoint.path;
    EXPECT_FALSE(ended.cut()) << endpoint.path;
    const Answer cut = ask(endpoint, "MORNING", {{endpoint.limit, 1}});
    EXPECT_EQ(cut.reasoning, "Good") << endpoint.path;
    EXPECT_TRUE(cut.cut()) << endpoint.path << cut.ending;
  }
}

TEST_F(FieldCaseOutputs, R04_OnRequestTheTextIsGivenAsContentToo) {
  repeat_open_reasoning_ = true;
  start();
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Answer ended = ask(endpoint, "MORNING");
    EXPECT_EQ(ended.reasoning, "Good morning") << endpoint.path;
    EXPECT_EQ(ended.text, "Good morning") << endpoint.path;
    EXPECT_FALSE(ended.cut()) << endpoint.path;
    const Answer cut = ask(endpoint, "MORNING", {{endpoint.limit, 1}});
    EXPECT_EQ(cut.reasoning, "Good") << endpoint.path;
    EXPECT_EQ(cut.text, "") << endpoint.path;
    const Answer closed = ask(endpoint, "SUNNY", tools_of(endpoint));
    EXPECT_EQ(closed.text, "It is sunny") << endpoint.path;
  }
}

TEST_F(FieldCaseOutputs, R05_T18_T19_ToolsAndThinkingGoTogetherOnEveryEndpoint) {
  start();
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Answer text = ask(endpoint, "SUNNY", tools_of(endpoint));
    EXPECT_EQ(text.reasoning, "r") << endpoint.path;
    EXPECT_EQ(text.text, "It is sunny") << endpoint.path;
    EXPECT_TRUE(text.calls.empty()) << endpoint.path;
    const Answer call = ask(endpoint, "BARECALL", tools_of(endpoint));
    EXPECT_EQ(call.reasoning, "r") << endpoint.path;
    EXPECT_EQ(call.text, "") << endpoint.path;
    ASSERT_EQ(call.calls.size(), 1U) << endpoint.path;
    EXPECT_EQ(Json::parse(call.calls[0].arguments), (Json{{"a", "x"}})) << endpoint.path;
  }
}

TEST_F(FieldCaseOutputs, R06_T12_ACallBehindTheReasoningIsReturnedAtEveryEffort) {
  start();
  const Endpoint& chat = endpoints()[0];
  for (const char* effort : {"low", "high", "max"}) {
    for (const std::string text : {"BARECALL", "LINECALL", "GAPCALL"}) {
      const Answer answer = ask(chat, text, merged(tools_of(chat), {{"reasoning_effort", effort}}));
      EXPECT_EQ(answer.calls.size(), 1U) << effort << text;
      EXPECT_EQ(answer.ending, "tool_calls") << effort << text;
      EXPECT_EQ(answer.text, "") << effort << text;
    }
  }
}

TEST_F(FieldCaseOutputs, R11_StopStringsApplyToTheVisibleAnswerOnly) {
  start();
  const Answer answer = ask(endpoints()[0], "STOPPED", {{"stop", Json::array({"Question:"})}});
  EXPECT_EQ(answer.reasoning, "Question: restated");
  EXPECT_EQ(answer.text, "42 ");
  EXPECT_EQ(answer.ending, "stop");
  const Answer message =
      ask(endpoints()[1], "STOPPED", {{"stop_sequences", Json::array({"Question:"})}});
  EXPECT_EQ(message.text, "42 ");
  EXPECT_EQ(message.ending, "stop_sequence");
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseOutputs, R13_ReasoningThatUsesUpTheLimitIsCounted) {
  start();
  const Answer chat = ask(endpoints()[0], "THIRTY", {{"max_tokens", 20}});
  EXPECT_EQ(chat.ending, "length");
  EXPECT_EQ(chat.text, "");
  EXPECT_EQ(chat.usage["completion_tokens"], 20);
  EXPECT_EQ(chat.usage["completion_tokens_details"]["reasoning_tokens"], 20);
  const Answer response = ask(endpoints()[2], "THIRTY", {{"max_output_tokens", 20}});
  EXPECT_EQ(response.usage["output_tokens_details"]["reasoning_tokens"], 20);
  EXPECT_TRUE(response.cut());
  EXPECT_TRUE(ask(endpoints()[1], "THIRTY", {{"max_tokens", 20}}).cut());
}

TEST_F(FieldCaseOutputs, T07_ArgumentsThatAreNoJsonAreCounted) {
  start();
  const auto counted = [this](int count) {
    const std::string page = exchange(get_text("/metrics")).body;
    return page.find(
               "deepinfer:invalid_tool_arguments_total{model_name=\"scripted\",engine=\"0\"} " +
               std::to_string(count) + "\n") != std::string::npos;
  };
  EXPECT_TRUE(counted(0));
  int count = 0;
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Answer answer = ask(endpoint, "BADVALUE", tools_of(endpoint));
    ASSERT_EQ(answer.calls.size(), 1U) << endpoint.path;
    EXPECT_EQ(Json::parse(answer.calls[0].arguments), (Json{{"a", "not json"}}));
    count += 2;  // plain and streamed
    EXPECT_TRUE(counted(count)) << endpoint.path;
  }
}

TEST_F(FieldCaseOutputs, T13_ACallCutAnywhereEndsWithTheLimitInBothModes) {
  start();
  const Endpoint& chat = endpoints()[0];
  std::string before;
  int num_cut = 0;
  for (int limit = 1;; ++limit) {
    Json request = merged(tools_of(chat), {{"max_tokens", limit}});
    request["thinking"] = {{"type", "enabled"}};
    const Answer plain = read_plain(exchange(chat.post("FIVECALLS", request)).body);
    const StreamedAnswer stream =
        read_stream(exchange(chat.post("FIVECALLS", merged(request, {{"stream", true}}))).body);
    EXPECT_EQ(stream.ending, plain.ending) << limit;
    EXPECT_EQ(stream.num_endings, 1) << limit;
    if (!plain.cut()) {
      EXPECT_EQ(plain.calls.size(), 5U);
      break;
    }
    ++num_cut;
    EXPECT_EQ(plain.ending, "length") << limit;
    ASSERT_LE(plain.calls.size(), stream.calls.size()) << limit;
    EXPECT_LE(stream.calls.size(), plain.calls.size() + 1) << limit;
    for (size_t i = 0; i < plain.calls.size(); ++i) {
      EXPECT_EQ(Json::parse(plain.calls[i].arguments)["i"], i) << limit;
      EXPECT_EQ(stream.calls[i].arguments, plain.calls[i].arguments) << limit;
    }
  }
  EXPECT_GT(num_cut, 50);
}

TEST_F(FieldCaseOutputs, T14_T15_ParallelCallsAreNumberedAndNamedOnce) {
  start();
  const Endpoint& chat = endpoints()[0];
  std::set<std::string> ids;
  const Json request = merged(tools_of(chat), {{"stream", true}, {"thinking", Json()}});
  for (int round = 0; round < 10; ++round) {
    const StreamedAnswer stream = read_stream(exchange(chat.post("FIVECALLS", request)).body);
    size_t begun = 0;
    for (const Json& event : stream.events) {
      for (const Json& call : event["choices"][0]["delta"].value("tool_calls", Json::array())) {
        if (call.contains("id")) {
          EXPECT_EQ(call["index"], begun++);
          EXPECT_EQ(call["type"], "function");
          EXPECT_TRUE(ids.insert(call["id"].get<std::string>()).second);
          EXPECT_FALSE(call["id"].get<std::string>().empty());
        } else {
          EXPECT_EQ(call["index"], begun - 1);
          EXPECT_EQ(call.size(), 2U) << call;
          EXPECT_EQ(call["function"].size(), 1U) << call;
        }
      }
    }
    EXPECT_EQ(begun, 5U);
    const Answer plain =
        read_plain(exchange(chat.post("FIVECALLS", merged(request, {{"stream", false}}))).body);
    for (const AnsweredCall& call : plain.calls) {
      EXPECT_TRUE(ids.insert(call.id).second);
    }
  }
  EXPECT_EQ(ids.size(), 100U);
}

TEST_F(FieldCaseOutputs, T17_WithoutToolsInUseMarkupIsHidden) {
  start();
  std::vector<std::pair<Endpoint, Json>> ways = {
      {endpoints()[0], merged(tools_of(endpoints()[0]), {{"tool_choice", "none"}})},
      {endpoints()[1], merged(tools_of(endpoints()[1]), {{"tool_choice", {{"type", "none"}}}})},
      {endpoints()[2], merged(tools_of(endpoints()[2]), {{"tool_choice", "none"}})},
  };
  for (const Endpoint& endpoint : chat_endpoints()) {
    ways.emplace_back(endpoint, Json::object());
  }
  for (const auto& [endpoint, way] : ways) {
    const Answer answer = ask(endpoint, "PROSECALL", way);
    EXPECT_EQ(answer.text, "I look.") << endpoint.path;
    EXPECT_TRUE(answer.calls.empty()) << endpoint.path;
  }
}

TEST_F(FieldCaseOutputs, T19_T20_AHundredRunsCarryCompleteCallsAndNoMarkup) {
  start();
  for (int run = 0; run < 100; ++run) {
    const Endpoint& endpoint = endpoints()[static_cast<size_t>(run % 3)];
    const Answer answer = ask(endpoint, "PROSECALL", tools_of(endpoint));
    EXPECT_EQ(answer.reasoning, "think a bit") << endpoint.path;
    EXPECT_EQ(answer.text, "I look.") << endpoint.path;
    ASSERT_EQ(answer.calls.size(), 1U) << endpoint.path;
    EXPECT_EQ(answer.calls[0].name, "f");
    EXPECT_EQ(Json::parse(answer.calls[0].arguments), Json::parse(R"({"a": "x y", "n": [1, 2]})"));
  }
  const Json body = Json::parse(exchange(endpoints()[0].post("PROSECALL")).body);
  for (const char* key : {"id", "object", "created", "model", "choices", "usage"}) {
    EXPECT_TRUE(body.contains(key)) << key;
  }
}

TEST_F(FieldCaseOutputs, L01_LogprobsAreValidJsonWithTokensAndBytes) {
  start();
  const Json request = {{"logprobs", true}, {"top_logprobs", 20}, {"top_k", 1}};
  for (const bool stream : {false, true}) {
    const RawResponse response =
        exchange(endpoints()[0].post("HELLO", merged(request, {{"stream", stream}})));
    ASSERT_EQ(response.status, 200) << response.body;
    int entries = 0;
    for (const Json& whole : stream ? read_stream(response.body).events
                                    : std::vector<Json>{Json::parse(response.body)}) {
      const Json logprobs = whole["choices"][0].value("logprobs", Json());
      for (const Json& entry : logprobs.is_object() ? logprobs["content"] : Json::array()) {
        ++entries;
        EXPECT_TRUE(entry["token"].is_string());
        EXPECT_TRUE(entry["bytes"].is_array());
        EXPECT_TRUE(entry["logprob"].is_number());
        EXPECT_LE(entry["top_logprobs"].size(), 20U);
      }
    }
    EXPECT_GT(entries, 0);
  }
}

}  // namespace
}  // namespace deepinfer::server
