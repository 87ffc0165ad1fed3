#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat_fixture.h"
#include "named_events.h"

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;
using testing::get_text;
using testing::Json;
using testing::NamedEvent;
using testing::parse_named_events;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;

constexpr char kMessagesScenario[] = R"({
  "PLAIN": [{"text": "It is forty-two.", "per_token": true}],
  "THINK": [{"text": "hm, hm</think>\n\nSo.", "per_token": true}],
  "CALLS": [{"text": "why</think>I look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n<｜DSML｜ parameter name=\"n\" string=\"false\">5</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "ONLY": [{"text": "</think>\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "EMPTY": [],
  "ENDLESS": [{"text": "more ", "delay_ms": 5, "repeat": true}],
  "PAUSE": [{"text": "first "}, {"text": "second", "delay_ms": 400}],
  "BROKEN": [{"fail": "the engine broke"}],
  "BREAKS": [{"text": "so far "}, {"delay_ms": 20, "fail": "the engine broke"}],
  "FULL": [{"refuse": "server_overloaded"}],
  "GONE": [{"refuse": "unavailable"}]
})";

std::vector<std::string> names_of(const std::vector<NamedEvent>& events) {
  std::vector<std::string> names;
  for (const NamedEvent& event : events) {
    const bool delta = event.name == "content_block_delta";
    const std::string name = delta ? event.data["delta"]["type"].get<std::string>() : event.name;
    if (names.empty() || names.back() != name) {
      names.push_back(name);
    }
  }
  return names;
}

Json tool(const std::string& name) {
  return {{"name", name}, {"input_schema", {{"type", "object"}, {"properties", Json::object()}}}};
}

class MessagesServerTest : public testing::ChatFixture {
 protected:
  MessagesServerTest() { scenario_ = kMessagesScenario; }

  static std::string post(const std::string& text, const Json& more = Json::object(),
                          std::string_view path = "/v1/messages") {
    Json body = {{"model", "scripted"},
                 {"max_tokens", 200},
                 {"messages", Json::array({{{"role", "user"}, {"content", text}}})}};
    body.update(more);
    return post_text(path, body.dump(), "anthropic-version: 2023-06-01\r\n");
  }

  Json answer(const std::string& text, const Json& more = Json::object()) {
    const RawResponse response = exchange(post(text, more));
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  }
};
class FieldCaseMessages : public MessagesServerTest {};

const Json kOff = {{"thinking", {{"type", "disabled"}}}};
const Json kStream = {{"stream", true}};

Json with(Json base, const Json& more) {
  base.update(more);
  return base;
}

TEST_F(MessagesServerTest, AnswersPlain) {
  start();
  const RawResponse response = exchange(post("PLAIN", kOff));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["type"], "message");
  EXPECT_EQ(body["role"], "assistant");
  EXPECT_EQ(body["model"], "scripted");
  EXPECT_EQ(body["content"], Json::parse(R"([{"type":"text","text":"It is forty-two."}])"));
  EXPECT_EQ(body["stop_reason"], "end_turn");
  EXPECT_TRUE(body["stop_sequence"].is_null());
  EXPECT_GT(body["usage"]["input_tokens"], 0);
  EXPECT_EQ(body["id"], "msg_" + response.header("request-id"));
  EXPECT_EQ(response.header("request-id"), response.header("x-request-id"));
}

TEST_F(FieldCaseMessages, Y01_Y03_Y05_OneBlockAtATime) {
  start();
  const Json request = {{"stream", true}, {"tools", Json::array({tool("f"), tool("g")})}};
  const RawResponse response = exchange(post("CALLS", request));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.header("content-type"), "text/event-stream");
  EXPECT_TRUE(response.complete);
  const auto events = parse_named_events(response.body);
  EXPECT_EQ(
      names_of(events),
      (std::vector<std::string>{
          "message_start", "content_block_start", "ping", "thinking_delta", "signature_delta",
          "content_block_stop", "content_block_start", "text_delta", "content_block_stop",
          "content_block_start", "input_json_delta", "content_block_stop", "content_block_start",
          "input_json_delta", "content_block_stop", "message_delta", "message_stop"}));
  int64_t index = -1;
  std::vector<std::string> kinds;
  for (const NamedEvent& event : events) {
    if (event.name == "content_block_start") {
      EXPECT_EQ(event.data["index"], ++index);
      kinds.push_back(event.data["content_block"]["type"]);
    } else if (event.data.contains("index")) {
      EXPECT_EQ(event.data["index"], index);
    }
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"thinking", "text", "tool_use", "tool_use"}));
}

TEST_F(FieldCaseMessages, Y02_OnlyACallLeavesNoEmptyBlock) {
  start();
  const Json body = answer("ONLY", {{"tools", Json::array({tool("f")})}});
  EXPECT_EQ(body["stop_reason"], "tool_use");
  ASSERT_EQ(body["content"].size(), 1U) << body;
  EXPECT_EQ(body["content"][0]["type"], "tool_use");
  EXPECT_EQ(body["content"][0]["input"], Json::object());
}

TEST_F(FieldCaseMessages, S19_StreamAndPlainAgree) {
  start();
  const Json tools = {{"tools", Json::array({tool("f"), tool("g")})}};
  for (const char* marker : {"PLAIN", "THINK", "CALLS", "ONLY", "EMPTY"}) {
    const Json plain = answer(marker, tools);
    Json blocks = Json::array();
    Json last;
    for (const NamedEvent& event :
         parse_named_events(exchange(post(marker, with(tools, kStream))).body)) {
      if (event.name == "content_block_start") {
        blocks.push_back(event.data["content_block"]);
        if (blocks.back()["type"] == "tool_use") {
          blocks.back()["input"] = "";
        }
      } else if (event.name == "content_block_delta") {
        const Json& delta = event.data["delta"];
        for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
                 {"text", "text"}, {"thinking", "thinking"}, {"partial_json", "input"}}) {
          if (delta.contains(from)) {
            Json& text = blocks.back()[to];
            text = text.get<std::string>() + delta[from].get<std::string>();
          }
        }
      } else if (event.name == "message_delta") {
        last = event.data;
      }
    }
    ASSERT_EQ(blocks.size(), plain["content"].size()) << marker;
    for (size_t i = 0; i < blocks.size(); ++i) {
      Json block = blocks[i];
      Json expected = plain["content"][i];
      if (block["type"] == "tool_use") {
        block["input"] = Json::parse(block["input"].get<std::string>());
      }
      for (const char* random : {"id", "signature"}) {
        block.erase(random);
        expected.erase(random);
      }
      EXPECT_EQ(block, expected) << marker;
    }
    EXPECT_EQ(last["usage"], plain["usage"]) << marker;
    EXPECT_EQ(last["delta"]["stop_reason"], plain["stop_reason"]) << marker;
  }
}

TEST_F(MessagesServerTest, StopSequencesAndLimitsEndWithTheirReasons) {
  start();
  const Json stopped = answer("PLAIN", with(kOff, {{"stop_sequences", {" forty"}}}));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], " forty");
  EXPECT_EQ(stopped["content"][0]["text"], "It is");
  const Json cut = answer("ENDLESS", with(kOff, {{"max_tokens", 7}}));
  EXPECT_EQ(cut["stop_reason"], "max_tokens");
  EXPECT_EQ(cut["usage"]["output_tokens"], 7);
}

TEST_F(FieldCaseMessages, S12_O05_RefusalsHaveARealStatusInBothModes) {
  start();
  const std::vector<std::pair<Json, int>> kBad = {
      {{{"messages", Json::array()}}, 400},
      {{{"temperature", 9}}, 400},
      {{{"model", "other"}}, 404},
      {{{"tools", Json::array({{{"name", "f"}, {"input_schema", {{"type", "array"}}}}})}}, 400},
      {{{"tool_choice", {{"type", "any"}}}}, 400},
  };
  for (const auto& [more, status] : kBad) {
    const RawResponse plain = exchange(post("PLAIN", more));
    EXPECT_EQ(plain.status, status) << more;
    const Json body = Json::parse(plain.body);
    EXPECT_EQ(body["type"], "error") << more;
    EXPECT_EQ(body["error"]["type"], status == 404 ? "not_found_error" : "invalid_request_error");
    EXPECT_FALSE(body["error"]["message"].get<std::string>().empty());
    EXPECT_EQ(body["request_id"], plain.header("request-id"));
    const RawResponse stream = exchange(post("PLAIN", with(more, kStream)));
    EXPECT_EQ(stream.status, status) << more;
    EXPECT_EQ(stream.header("content-type"), "application/json");
    EXPECT_EQ(Json::parse(stream.body)["error"], body["error"]);
  }
}

TEST_F(FieldCaseMessages, V04_V06_EmptyMessagesAreNamed) {
  start();
  const Json empty = Json::parse(exchange(post("x", {{"messages", Json::array()}})).body);
  EXPECT_EQ(empty["error"]["param"], "messages");
  const Json messages = Json::parse(R"([{"role":"user","content":"a"},{"role":"assistant",
      "content":"b"},{"role":"user","content":[]},{"role":"user","content":"c"}])");
  const RawResponse response = exchange(post("x", {{"messages", messages}}));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("messages.2"), std::string::npos) << response.body;
}

TEST_F(FieldCaseMessages, O03_EveryFailureHasThatProtocolsShape) {
  config_.api_keys = {"secret"};
  config_.max_request_bytes = 4096;
  start();
  const std::string key = "x-api-key: secret\r\n";
  const Json body = {{"model", "scripted"},
                     {"max_tokens", 20},
                     {"messages", Json::array({{{"role", "user"}, {"content", "FULL"}}})}};
  Json gone = body;
  gone["messages"][0]["content"] = "GONE";
  Json broken = body;
  broken["messages"][0]["content"] = "BROKEN";
  const std::vector<std::tuple<std::string, int, std::string>> kFailures = {
      {post_text("/v1/messages", body.dump()), 401, "authentication_error"},
      {post_text("/v1/messages", body.dump(), "Authorization: Bearer wrong\r\n"), 401,
       "authentication_error"},
      {post_text("/v1/messages/nowhere", body.dump(), key), 404, "not_found_error"},
      {get_text("/v1/messages", key), 405, "invalid_request_error"},
      {post_text("/v1/messages", std::string(5000, ' '), key), 413, "request_too_large"},
      {post_text("/v1/messages", body.dump(), key), 503, "overloaded_error"},
      {post_text("/v1/messages", gone.dump(), key), 503, "api_error"},
      {post_text("/v1/messages", broken.dump(), key), 500, "api_error"},
      {post_text("/v1/messages/count_tokens", "{", key), 400, "invalid_request_error"},
  };
  for (const auto& [request, status, type] : kFailures) {
    const RawResponse response = exchange(request);
    EXPECT_EQ(response.status, status) << request.substr(0, 60);
    const Json error = Json::parse(response.body);
    EXPECT_EQ(error["type"], "error") << error;
    EXPECT_EQ(error["error"]["type"], type) << error;
    EXPECT_EQ(error["request_id"], response.header("request-id")) << error;
  }
  const Json elsewhere = Json::parse(exchange(post_text("/v1/nowhere", "{}", key)).body);
  EXPECT_FALSE(elsewhere.contains("type"));
  EXPECT_EQ(elsewhere["error"]["type"], "not_found_error");
}

TEST_F(MessagesServerTest, AFailureInAStreamIsANamedEvent) {
  start();
  const RawResponse response = exchange(post("BREAKS", with(kOff, kStream)));
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.complete);
  const auto events = parse_named_events(response.body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().name, "message_start");
  EXPECT_EQ(events.back().name, "error");
  EXPECT_EQ(events.back().data["error"]["type"], "api_error");
}

TEST_F(FieldCaseMessages, S17_SilenceIsFilledWithPings) {
  config_.sse_keep_alive_interval = milliseconds(100);
  start();
  const auto events = parse_named_events(exchange(post("PAUSE", with(kOff, kStream))).body);
  int pings = 0;
  for (const NamedEvent& event : events) {
    pings += event.name == "ping" ? 1 : 0;
  }
  EXPECT_GE(pings, 3);
  EXPECT_EQ(events.front().name, "message_start");
  EXPECT_EQ(events.back().name, "message_stop");
}

TEST_F(FieldCaseMessages, C01_LeavingClientsCancel) {
  start();
  for (const Json& mode : {kOff, with(kOff, kStream)}) {
    RawClient client = connect();
    client.send(post("ENDLESS", with(mode, {{"max_tokens", 4000}})));
    ASSERT_TRUE(llm_->wait_until([](const auto& counts) { return counts.running == 1; }));
    client.close();
    EXPECT_TRUE(engine_is_empty());
  }
  EXPECT_EQ(llm_->counts().cancelled, 2);
}

TEST_F(FieldCaseMessages, H06_AcceptsTheQueryOfBetaClients) {
  start();
  EXPECT_EQ(exchange(post("PLAIN", kOff, "/v1/messages?beta=true")).status, 200);
  EXPECT_EQ(exchange(get_text("/", "", "HEAD")).status, 200);
}

TEST_F(MessagesServerTest, CountsWhatARequestWouldUse) {
  start();
  const Json counted = Json::parse(exchange(post("PLAIN", kOff, "/v1/messages/count_tokens")).body);
  EXPECT_EQ(counted.size(), 1U);
  EXPECT_EQ(counted["input_tokens"], answer("PLAIN", kOff)["usage"]["input_tokens"]);
  EXPECT_EQ(llm_->counts().submitted, 1);
}

TEST_F(MessagesServerTest, TokenizesTextAndChats) {
  start();
  const auto ask = [this](const std::string& path, const Json& body) {
    const RawResponse response = exchange(post_text(path, body.dump()));
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  };
  const Json text = ask("/tokenize", {{"prompt", "Hi, 🙂!"}, {"return_token_strs", true}});
  EXPECT_EQ(text["count"], text["tokens"].size());
  EXPECT_EQ(text["token_strs"].size(), text["tokens"].size());
  EXPECT_EQ(text["max_model_len"], 4096);
  EXPECT_EQ(ask("/detokenize", {{"tokens", text["tokens"]}})["prompt"], "Hi, 🙂!");
  const Json chat = ask("/tokenize", Json::parse(ChatFixture::chat("PLAIN")));
  EXPECT_TRUE(chat["token_strs"].is_null());
  const Json answered = Json::parse(exchange(chat_post("PLAIN")).body);
  EXPECT_EQ(chat["count"], answered["usage"]["prompt_tokens"]);
}

TEST_F(MessagesServerTest, TokenRoutesNameWhatIsWrong) {
  start();
  const std::vector<std::tuple<std::string, std::string, int, std::string>> kBad = {
      {"/tokenize", "{}", 400, "messages"},
      {"/tokenize", R"({"prompt":"a","messages":[]})", 400, "prompt"},
      {"/tokenize", R"({"prompt":5})", 400, "prompt"},
      {"/tokenize", R"({"prompt":"a","model":"other"})", 404, "model"},
      {"/tokenize", R"({"messages":[{"role":"user","content":"a"}],"add_generation_prompt":false})",
       400, "add_generation_prompt"},
      {"/detokenize", R"({"tokens":[1,-1]})", 400, "tokens[1]"},
      {"/detokenize", R"({"tokens":[99999999]})", 400, "tokens[0]"},
      {"/detokenize", R"({"tokens":"a"})", 400, "tokens"},
      {"/detokenize", "{}", 400, "tokens"},
  };
  for (const auto& [path, body, status, param] : kBad) {
    const RawResponse response = exchange(post_text(path, body));
    EXPECT_EQ(response.status, status) << body;
    EXPECT_EQ(Json::parse(response.body)["error"]["param"], param) << response.body;
  }
}

}  // namespace
}  // namespace deepinfer::server
