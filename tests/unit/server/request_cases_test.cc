// Group V of the field cases through the whole server: what is refused has the same answer in
// both modes and never reaches the engine, what is served reaches it whole.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "endpoints.h"

namespace deepinfer::server {
namespace {

using testing::Answer;
using testing::AnsweredCall;
using testing::chat_endpoints;
using testing::Endpoint;
using testing::endpoints;
using testing::Json;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;
using testing::read_plain;
using testing::read_stream;
using testing::StreamedAnswer;

constexpr char kScenario[] = R"({
  "PLAIN": [{"text": "It is forty-two."}],
  "ENDLESS": [{"text": "more ", "repeat": true}],
  "TICKING": [{"text": "tick ", "delay_ms": 3, "repeat": true}],
  "LONG": [{"text": "a", "repeat": true}],
  "CALL": [{"text": "I look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x y</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"n\" string=\"false\">[1, 2]</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "NOARGS": [{"text": "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>"}]
})";

const Json kStream = {{"stream", true}};

Json merged(Json base, const Json& more) {
  base.update(more);
  return base;
}

Json user(const Json& content) {
  return {{"role", "user"}, {"content", content}};
}

Json assistant(const Json& content) {
  return {{"role", "assistant"}, {"content", content}};
}

Json parts(const std::vector<std::string>& texts, const std::string& type = "text") {
  Json list = Json::array();
  for (const std::string& text : texts) {
    list.push_back({{"type", type}, {"text", text}});
  }
  return list;
}

/// An assistant turn of Chat Completions that calls `f`; without a `content` if that is discarded.
Json calling(const Json& content, const std::string& arguments = R"({"a":1})") {
  Json turn = {{"role", "assistant"}};
  if (!content.is_discarded()) {
    turn["content"] = content;
  }
  turn["tool_calls"] = Json::array({{{"id", "c1"}, {"type", "function"}}});
  turn["tool_calls"][0]["function"] = {{"name", "f"}, {"arguments", arguments}};
  return turn;
}

Json tool_result(const Json& content, const std::string& id = "c1") {
  return {{"role", "tool"}, {"tool_call_id", id}, {"content", content}};
}

/// A declaration of the tool `f` as `endpoint` wants it.
Json tools_of(const Endpoint& endpoint) {
  const Json schema = {{"type", "object"}, {"properties", Json::object()}};
  Json tool = {{"name", "f"}};
  if (endpoint.path == "/v1/messages") {
    tool["input_schema"] = schema;
    return Json::array({tool});
  }
  tool["parameters"] = schema;
  return endpoint.input == "input" ? Json::array({merged({{"type", "function"}}, tool)})
                                   : Json::array({{{"type", "function"}, {"function", tool}}});
}

class FieldCaseRequests : public testing::ChatFixture {
 protected:
  FieldCaseRequests() { scenario_ = kScenario; }

  /// The engine's prompt after a served request.
  std::string prompt_behind(const Endpoint& endpoint, const Json& more) {
    const RawResponse response = exchange(endpoint.post("PLAIN", more));
    EXPECT_EQ(response.status, 200) << response.body << more;
    std::string text;
    for (const TokenId id : llm_->last_prompt()) {
      text += service_->loaded()->recipe->tokenizer().token_bytes(id);
    }
    return text;
  }
  std::string chat_prompt(const Json& messages) {
    return prompt_behind(endpoints()[0], {{"messages", messages}});
  }

  /// Both modes answer 400 alike, and nothing was generated. Gives the error.
  Json expect_refused(const Endpoint& endpoint, const std::string& body,
                      const std::string& stream_body) {
    const int before = llm_->counts().submitted;
    const RawResponse plain = exchange(post_text(endpoint.path, body));
    const RawResponse stream = exchange(post_text(endpoint.path, stream_body));
    for (const RawResponse& response : {plain, stream}) {
      EXPECT_EQ(response.status, 400) << endpoint.path << body.substr(0, 300);
      EXPECT_EQ(response.header("content-type"), "application/json");
      EXPECT_TRUE(response.complete);
    }
    EXPECT_EQ(llm_->counts().submitted, before) << endpoint.path << body.substr(0, 300);
    if (!Json::accept(plain.body) || !Json::accept(stream.body)) {
      ADD_FAILURE() << plain.body << stream.body;
      return Json::object();
    }
    const Json error = Json::parse(plain.body)["error"];
    EXPECT_EQ(Json::parse(stream.body)["error"], error);
    return error;
  }
  Json expect_refused(const Endpoint& endpoint, const Json& more) {
    const Json body = endpoint.body("PLAIN", more);
    return expect_refused(endpoint, body.dump(), merged(body, kStream).dump());
  }
};

TEST_F(FieldCaseRequests, V01_CallingTurnsWithoutContentAreServedAlike) {
  start();
  const auto prompt = [this](const Json& content) {
    return chat_prompt(Json::array({user("do it"), calling(content), tool_result("PLAIN")}));
  };
  const std::string expected = prompt("");
  EXPECT_EQ(prompt(Json::array()), expected);
  EXPECT_EQ(prompt(nullptr), expected);
  EXPECT_EQ(prompt(Json(Json::value_t::discarded)), expected);
}

TEST_F(FieldCaseRequests, V02_TextPartsEqualTheJoinedTextInEveryRole) {
  start();
  const Json list = parts({"A", "B"});
  for (const char* role : {"user", "system", "assistant"}) {
    const auto prompt = [&](const Json& content) {
      return chat_prompt(
          Json::array({user("q"), {{"role", role}, {"content", content}}, user("x")}));
    };
    EXPECT_EQ(prompt(list), prompt("A\n\nB")) << role;
  }
  const auto result = [this](const Json& content) {
    return chat_prompt(Json::array({user("do it"), calling(""), tool_result(content)}));
  };
  EXPECT_EQ(result(list), result("A\n\nB"));
}

TEST_F(FieldCaseRequests, V03_NoRoleOfAnyProtocolLosesItsText) {
  start();
  const Json word = parts({"xylophone"});
  for (const char* role : {"user", "system", "assistant", "developer"}) {
    const Json messages = Json::array({{{"role", role}, {"content", word}}, user("PLAIN")});
    EXPECT_NE(chat_prompt(messages).find("xylophone"), std::string::npos) << role;
  }
  EXPECT_NE(chat_prompt(Json::array({user("q"), calling(""), tool_result(word)})).find("xylophone"),
            std::string::npos);
  const Endpoint& messages = endpoints()[1];
  for (const char* role : {"user", "assistant"}) {
    const Json history =
        Json::array({user("q"), {{"role", role}, {"content", word}}, user("PLAIN")});
    EXPECT_NE(prompt_behind(messages, {{"messages", history}}).find("xylophone"), std::string::npos)
        << role;
  }
  EXPECT_NE(prompt_behind(messages, {{"system", word}}).find("xylophone"), std::string::npos);
  const Endpoint& responses = endpoints()[2];
  for (const auto& [role, type] : std::vector<std::pair<std::string, std::string>>{
           {"user", "input_text"}, {"system", "input_text"}, {"assistant", "output_text"}}) {
    const Json input =
        Json::array({{{"role", role}, {"content", parts({"xylophone"}, type)}}, user("PLAIN")});
    EXPECT_NE(prompt_behind(responses, {{"input", input}}).find("xylophone"), std::string::npos)
        << role;
  }
}

TEST_F(FieldCaseRequests, V04_V05_S12_NoConversationIsRefusedAlikeInBothModes) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    for (const Json& value : {Json::array(), Json::object(), Json()}) {
      const Json error = expect_refused(endpoint, {{endpoint.input, value}});
      EXPECT_EQ(error["param"], endpoint.input) << endpoint.path << value;
      // A sentence may begin with the name.
      EXPECT_NE(error["message"].get<std::string>().find(endpoint.input.substr(1)),
                std::string::npos)
          << error;
    }
    Json body = endpoint.body("PLAIN");
    body.erase(endpoint.input);
    const Json error = expect_refused(endpoint, body.dump(), merged(body, kStream).dump());
    EXPECT_EQ(error["param"], endpoint.input) << endpoint.path;
  }
}

TEST_F(FieldCaseRequests, V06_ATurnWithoutBlocksIsRefusedByItsIndex) {
  start();
  const Json history = Json::array({user("a"), assistant("b"), user(Json::array()), user("PLAIN")});
  const Json error = expect_refused(endpoints()[1], {{"messages", history}});
  EXPECT_NE(error["message"].get<std::string>().find("messages.2"), std::string::npos) << error;
}

TEST_F(FieldCaseRequests, V07_DeepBodiesHarmNobody) {
  start();
  const Json ticking = {{"max_tokens", 300}, {"stream", true}};
  RawClient other = connect();
  other.send(endpoints()[0].post("TICKING", ticking));
  ASSERT_TRUE(other.read_until("tick"));
  for (const Endpoint& endpoint : endpoints()) {
    const std::string body = endpoint.body("PLAIN").dump();
    const std::string open = body.substr(0, body.size() - 1) + ",";
    for (const size_t depth : {100U, 3000U, 100000U}) {
      const std::string nested = std::string(depth, '[') + std::string(depth, ']');
      for (const std::string& member :
           {"\"tools\":" + nested, "\"metadata\":{\"a\":" + nested + "}",
            R"("tools":[{"type":"function","name":"f","function":{"name":"f","parameters":)" +
                nested + "}}]"}) {
        EXPECT_EQ(exchange(post_text(endpoint.path, open + member + "}")).status, 400)
            << endpoint.path << depth << member.substr(0, 20);
      }
    }
  }
  const StreamedAnswer answer = read_stream(other.read_response()->body);
  std::string expected;
  for (size_t i = 0; i < answer.text.size() / 5; ++i) {
    expected += "tick ";
  }
  EXPECT_EQ(answer.text, expected);
  EXPECT_EQ(answer.usage, Json());
  EXPECT_TRUE(answer.cut());
}

TEST_F(FieldCaseRequests, V08_RepeatedKeysAreRefusedAtAnyDepth) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const std::string body = endpoint.body("PLAIN").dump();
    const std::string open = body.substr(0, body.size() - 1) + ",";
    for (const std::string& members :
         {std::string(R"("stream":false,"stream":true)"), std::string(R"("model":"scripted")"),
          std::string(R"("metadata":{"a":{"b":1,"b":2}})"),
          std::string(R"("tools":[{"name":"f","name":"g"}])")}) {
      expect_refused(endpoint, open + members + "}", open + members + "}");
    }
  }
}

TEST_F(FieldCaseRequests, V09_BrokenArgumentsInTheHistoryAreKeptAsText) {
  start();
  const std::string prompt = chat_prompt(
      Json::array({user("do it"), calling("", "{"), tool_result("done"), user("PLAIN")}));
  EXPECT_NE(prompt.find("string=\"true\">{<"), std::string::npos) << prompt;
  const Json input = Json::array(
      {user("do it"),
       {{"type", "function_call"}, {"call_id", "c1"}, {"name", "f"}, {"arguments", "{"}},
       {{"type", "function_call_output"}, {"call_id", "c1"}, {"output", "done"}},
       user("PLAIN")});
  EXPECT_NE(prompt_behind(endpoints()[2], {{"input", input}}).find("string=\"true\">{<"),
            std::string::npos);
}

/// The turns with which a client goes on after `answer`: the answer as it came, and a result for
/// each of its calls.
Json continued(const Endpoint& endpoint, const RawResponse& response, const Answer& answer) {
  const Json whole = Json::parse(response.body);
  Json turns = Json::array({user("CALL")});
  if (endpoint.path == "/v1/chat/completions") {
    turns.push_back(whole["choices"][0]["message"]);
    for (const AnsweredCall& call : answer.calls) {
      turns.push_back(tool_result("done", call.id));
    }
  } else if (endpoint.path == "/v1/messages") {
    turns.push_back(assistant(whole["content"]));
    Json results = Json::array();
    for (const AnsweredCall& call : answer.calls) {
      results.push_back({{"type", "tool_result"}, {"tool_use_id", call.id}, {"content", "done"}});
    }
    if (!results.empty()) {
      turns.push_back(user(results));
    }
  } else {
    turns.insert(turns.end(), whole["output"].begin(), whole["output"].end());
    for (const AnsweredCall& call : answer.calls) {
      turns.push_back({{"type", "function_call_output"}, {"call_id", call.id}, {"output", "done"}});
    }
  }
  turns.push_back(user("PLAIN"));
  return turns;
}

TEST_F(FieldCaseRequests, V10_AnAnswerCutAnywhereIsAcceptedBack) {
  start();
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Json tools = {{"tools", tools_of(endpoint)}};
    bool whole = false;
    for (int limit = 1; !whole; ++limit) {
      const Json request = merged(tools, {{endpoint.limit, limit}});
      const RawResponse first = exchange(endpoint.post("CALL", request));
      ASSERT_EQ(first.status, 200) << first.body;
      const Answer answer = read_plain(first.body);
      whole = !answer.cut();
      const Json turns = continued(endpoint, first, answer);
      const RawResponse next =
          exchange(endpoint.post("", merged(tools, {{endpoint.input, turns}})));
      EXPECT_EQ(next.status, 200) << endpoint.path << turns << next.body;
    }
  }
}

TEST_F(FieldCaseRequests, V10_AStreamedCallThatWasCutIsAcceptedBack) {
  start();
  const Endpoint& chat = endpoints()[0];
  const Json tools = {{"tools", tools_of(chat)}};
  bool whole = false;
  for (int limit = 1; !whole; ++limit) {
    const Json request = merged(tools, {{"max_tokens", limit}, {"stream", true}});
    const StreamedAnswer answer = read_stream(exchange(chat.post("CALL", request)).body);
    whole = !answer.cut();
    Json turn = assistant(answer.text);
    Json turns = Json::array({user("CALL")});
    for (const AnsweredCall& call : answer.calls) {
      Json sent = {{"id", call.id}, {"type", "function"}};
      sent["function"] = {{"name", call.name}, {"arguments", call.arguments}};
      turn["tool_calls"].push_back(sent);
    }
    turns.push_back(turn);
    for (const AnsweredCall& call : answer.calls) {
      turns.push_back(tool_result("PLAIN", call.id));
    }
    turns.push_back(user("PLAIN"));
    EXPECT_EQ(exchange(chat.post("", merged(tools, {{"messages", turns}}))).status, 200) << turns;
  }
}

TEST_F(FieldCaseRequests, V11_StopTokensOutsideTheVocabularyHarmNobody) {
  start();
  const Json ticking = {{"max_tokens", 100}, {"stream", true}};
  const std::string alone =
      read_stream(exchange(endpoints()[0].post("TICKING", ticking)).body).text;
  RawClient other = connect();
  other.send(endpoints()[0].post("TICKING", ticking));
  ASSERT_TRUE(other.read_until("tick"));
  for (const Endpoint& endpoint : {endpoints()[0], endpoints()[3]}) {
    for (const int64_t id : {int64_t{129280}, int64_t{-1}, int64_t{2147483647}}) {
      for (const Json& more : {Json::object(), Json{{"min_tokens", 1}}}) {
        const Json request = merged(more, {{"stop_token_ids", Json::array({id})}});
        const Json error = expect_refused(endpoint, request);
        EXPECT_EQ(error["param"], "stop_token_ids[0]") << error;
      }
    }
  }
  EXPECT_EQ(read_stream(other.read_response()->body).text, alone);
}

TEST_F(FieldCaseRequests, V12_BadLogitBiasIsRefusedByItsKey) {
  start();
  const std::vector<std::pair<std::string, Json>> kBad = {
      {"99999999", 5}, {"-1", 5}, {"abc", 1}, {"5", 1e9}, {"5", "NaN"}};
  for (const Endpoint& endpoint : {endpoints()[0], endpoints()[3]}) {
    for (const auto& [key, value] : kBad) {
      const Json error = expect_refused(endpoint, {{"logit_bias", {{key, value}}}});
      EXPECT_EQ(error["param"], "logit_bias." + key) << error;
    }
    std::string body = endpoint.body("PLAIN", {{"logit_bias", {{"5", 77}}}}).dump();
    body.replace(body.find("77"), 2, "NaN");
    expect_refused(endpoint, body, body);
  }
}

TEST_F(FieldCaseRequests, V13_BadLimitsAreRefused) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    for (const Json& value : {Json(0), Json(-1), Json(1e18), Json("5"), Json(1.5)}) {
      const Json error = expect_refused(endpoint, {{endpoint.limit, value}});
      EXPECT_EQ(error["param"], endpoint.limit) << endpoint.path << value;
    }
  }
  expect_refused(endpoints()[3], {{"max_tokens", 0}, {"echo", true}, {"logprobs", 1}});
  expect_refused(endpoints()[3], {{"max_tokens", 0}, {"echo", true}});
  EXPECT_EQ(exchange(endpoints()[0].post("PLAIN")).status, 200);
}

TEST_F(FieldCaseRequests, V14_TheNewerLimitIsTheOneThatCounts) {
  start();
  const Endpoint& chat = endpoints()[0];
  const Json usage = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};
  for (const Json& limits :
       {Json{{"max_completion_tokens", 5}}, Json{{"max_tokens", 50}, {"max_completion_tokens", 5}},
        Json{{"max_tokens", 3}, {"max_completion_tokens", 5}}}) {
    const Answer plain = read_plain(exchange(chat.post("LONG", limits)).body);
    const Answer stream = read_stream(exchange(chat.post("LONG", merged(usage, limits))).body);
    for (const Answer& answer : {plain, stream}) {
      EXPECT_EQ(answer.text, "aaaaa") << limits;
      EXPECT_EQ(answer.ending, "length");
      EXPECT_EQ(answer.usage["completion_tokens"], 5);
    }
  }
}

TEST_F(FieldCaseRequests, V15_TheConfiguredDefaultLimitHoldsOnEveryEndpoint) {
  config_.default_max_tokens = 7;
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const Answer plain = read_plain(exchange(endpoint.post("LONG")).body);
    EXPECT_EQ(plain.text, "aaaaaaa") << endpoint.path;
    EXPECT_TRUE(plain.cut()) << endpoint.path << plain.ending;
    const Answer stream = read_stream(exchange(endpoint.post("LONG", kStream)).body);
    EXPECT_EQ(stream.text, plain.text) << endpoint.path;
    EXPECT_EQ(stream.ending, plain.ending) << endpoint.path;
    // A request's own limit wins, in either direction.
    for (const int own : {3, 20}) {
      EXPECT_EQ(read_plain(exchange(endpoint.post("LONG", {{endpoint.limit, own}})).body).text,
                std::string(static_cast<size_t>(own), 'a'))
          << endpoint.path;
    }
  }
}

TEST_F(FieldCaseRequests, V15_ADefaultBeyondTheContextIsNoError) {
  config_.default_max_tokens = 1 << 20;
  start();
  for (const Endpoint& endpoint : endpoints()) {
    EXPECT_EQ(read_plain(exchange(endpoint.post("PLAIN")).body).text, "It is forty-two.");
  }
}

TEST_F(FieldCaseRequests, V16_WithoutALimitNothingIsCut) {
  scenario_ = R"({"2000": [{"text": ")";
  for (int i = 0; i < 1000; ++i) {
    scenario_ += i % 2 == 0 ? " a" : " b";
  }
  scenario_ += R"("}, {"text": ")";
  for (int i = 0; i < 1000; ++i) {
    scenario_ += i % 2 == 0 ? " c" : " d";
  }
  scenario_ += R"("}]})";
  start();
  for (const Endpoint& endpoint : chat_endpoints()) {
    const Answer answer = read_plain(exchange(endpoint.post("2000")).body);
    EXPECT_EQ(answer.text.size(), 4000U) << endpoint.path;
    EXPECT_FALSE(answer.cut()) << endpoint.path << answer.ending;
  }
  EXPECT_EQ(read_plain(exchange(endpoints()[0].post("2000")).body).ending, "stop");
}

TEST_F(FieldCaseRequests, V17_NamesThatAreMarkupAreRefused) {
  start();
  for (const char* name : {"<｜User｜>", "</think>", "｜DSML｜ calls>", "f\"></｜DSML｜"}) {
    const Json tool = {{"type", "function"}, {"function", {{"name", name}}}};
    const Json error = expect_refused(endpoints()[0], {{"tools", Json::array({tool})}});
    EXPECT_EQ(error["param"], "tools[0].function.name") << error;
  }
}

TEST_F(FieldCaseRequests, V18_ToolsWithoutParametersAreCalledWithNone) {
  start();
  const std::vector<Json> kFunctions = {
      {{"name", "f"}},
      {{"name", "f"}, {"parameters", nullptr}, {"description", nullptr}},
      {{"name", "f"}, {"parameters", Json::object()}, {"description", "d"}},
  };
  for (const Json& function : kFunctions) {
    for (const char* choice : {"auto", "none"}) {
      const Json request = {
          {"tools", Json::array({{{"type", "function"}, {"function", function}}})},
          {"tool_choice", choice}};
      const RawResponse response = exchange(endpoints()[0].post("NOARGS", request));
      ASSERT_EQ(response.status, 200) << response.body;
      const Answer answer = read_plain(response.body);
      ASSERT_EQ(answer.calls.size(), std::string(choice) == "auto" ? 1U : 0U) << response.body;
      if (!answer.calls.empty()) {
        EXPECT_EQ(answer.calls[0].arguments, "{}");
        EXPECT_EQ(answer.ending, "tool_calls");
      }
    }
  }
}

}  // namespace
}  // namespace deepinfer::server
