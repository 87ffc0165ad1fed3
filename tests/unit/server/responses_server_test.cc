#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chat_fixture.h"
#include "named_events.h"

namespace deepinfer::server {
namespace {

using ::deepinfer::testing::ScriptedCounts;
using std::chrono::milliseconds;
using testing::Json;
using testing::NamedEvent;
using testing::parse_named_events;
using testing::parse_stream;
using testing::ParsedStream;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;

constexpr char kScenario[] = R"({
  "PLAIN": [{"text": "It is forty-two.", "per_token": true}],
  "CALLS": [{"text": "why</think>I look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "ENDLESS": [{"text": "more ", "delay_ms": 5, "repeat": true}],
  "PAUSE": [{"text": "first "}, {"text": "second", "delay_ms": 400}],
  "BROKEN": [{"fail": "the engine broke"}],
  "BREAKS": [{"text": "so far "}, {"delay_ms": 20, "fail": "the engine broke"}],
  "FULL": [{"refuse": "server_overloaded"}]
})";

Json with(Json base, const Json& more) {
  base.update(more);
  return base;
}

const Json kOff = {{"reasoning", {{"effort", "none"}}}};
const Json kStreamOff = {{"stream", true}, {"reasoning", {{"effort", "none"}}}};

/// Events of a Responses stream, whose numbers must be in order.
std::vector<NamedEvent> parse_events(const std::string& body) {
  std::vector<NamedEvent> events = parse_named_events(body);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].data["sequence_number"], i);
  }
  return events;
}

class ResponsesServerTest : public testing::ChatFixture {
 protected:
  ResponsesServerTest() { scenario_ = kScenario; }

  static std::string post(const std::string& text, const Json& more = Json::object()) {
    return post_text("/v1/responses", with({{"model", "scripted"}, {"input", text}}, more).dump());
  }
  static std::string post_completion(const Json& more) {
    return post_text(
        "/v1/completions",
        with({{"model", "scripted"}, {"prompt", "PLAIN"}, {"max_tokens", 50}}, more).dump());
  }
};

TEST_F(ResponsesServerTest, AnswersPlain) {
  start();
  const RawResponse response = exchange(post("PLAIN", kOff));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_NE(response.header("server-timing"), "");
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["object"], "response");
  EXPECT_EQ(body["status"], "completed");
  EXPECT_EQ(body["model"], "scripted");
  EXPECT_EQ(body["id"], "resp_" + response.header("x-request-id"));
  EXPECT_EQ(body["output"][0]["content"][0]["text"], "It is forty-two.");
  EXPECT_GT(body["usage"]["input_tokens"], 0);
}

TEST_F(ResponsesServerTest, StreamsNamedEventsAndNoDone) {
  start();
  Json tool = {{"type", "function"}, {"name", "f"}};
  tool["parameters"] = {{"type", "object"}, {"properties", Json::object()}};
  const RawResponse response =
      exchange(post("CALLS", {{"stream", true}, {"tools", Json::array({tool})}}));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.header("content-type"), "text/event-stream");
  EXPECT_TRUE(response.complete);
  EXPECT_EQ(response.body.find("[DONE]"), std::string::npos);
  const auto events = parse_events(response.body);
  ASSERT_GT(events.size(), 3U);
  EXPECT_EQ(events.front().name, "response.created");
  EXPECT_EQ(events.back().name, "response.completed");
  const Json& output = events.back().data["response"]["output"];
  ASSERT_EQ(output.size(), 3U);
  EXPECT_EQ(output[0]["type"], "reasoning");
  EXPECT_EQ(output[1]["type"], "message");
  EXPECT_EQ(output[2]["type"], "function_call");
  EXPECT_EQ(output[2]["arguments"], R"({"a": "x"})");
}

TEST_F(ResponsesServerTest, RefusalsNameTheMember) {
  start();
  const RawResponse response = exchange(post("PLAIN", {{"previous_response_id", "resp_1"}}));
  EXPECT_EQ(response.status, 400);
  const Json error = Json::parse(response.body)["error"];
  EXPECT_EQ(error["param"], "previous_response_id");
  EXPECT_EQ(error["code"], "unsupported_parameter");
  EXPECT_EQ(exchange(post("PLAIN", {{"model", "other"}})).status, 404);
  EXPECT_EQ(exchange(post("FULL", kOff)).status, 503);
  EXPECT_EQ(exchange(post("BROKEN", kStreamOff)).status, 500);
}

TEST_F(ResponsesServerTest, AFailureInsideAStreamIsAnEventWithThePlainAnswersError) {
  start();
  const RawResponse plain = exchange(post("BROKEN", kOff));
  const RawResponse response = exchange(post("BREAKS", kStreamOff));
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.complete);
  const auto events = parse_events(response.body);
  ASSERT_GT(events.size(), 2U);
  const NamedEvent& failed = events[events.size() - 2];
  EXPECT_EQ(failed.name, "response.failed");
  EXPECT_EQ(failed.data["response"]["status"], "failed");
  EXPECT_EQ(events.back().name, "error");
  EXPECT_EQ(events.back().data["error"], Json::parse(plain.body)["error"]);
}

TEST_F(ResponsesServerTest, AClientThatLeavesCancelsItsGeneration) {
  start();
  RawClient client = connect();
  client.send(post("ENDLESS", kStreamOff));
  EXPECT_TRUE(client.read_until("output_text.delta"));
  client.close();
  EXPECT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.cancelled == 1; }));
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(ResponsesServerTest, SilenceIsFilledWithComments) {
  config_.sse_keep_alive_interval = milliseconds(50);
  start();
  const RawResponse response = exchange(post("PAUSE", kStreamOff));
  EXPECT_NE(response.body.find(": keep-alive"), std::string::npos);
  EXPECT_EQ(parse_events(response.body).back().name, "response.completed");
}

TEST_F(ResponsesServerTest, CompletionsAnswerPlain) {
  start();
  const RawResponse response = exchange(post_completion(Json::object()));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["id"], "cmpl-" + response.header("x-request-id"));
  EXPECT_EQ(body["choices"][0]["text"], "It is forty-two.");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
}

TEST_F(ResponsesServerTest, CompletionsStreamOneListOfChoices) {
  start();
  const RawResponse response =
      exchange(post_completion({{"prompt", Json::array({"PLAIN", "PLAIN"})},
                                {"stream", true},
                                {"stream_options", {{"include_usage", true}}}}));
  ASSERT_EQ(response.status, 200) << response.body;
  const ParsedStream stream = parse_stream(response.body);
  EXPECT_TRUE(stream.well_formed);
  EXPECT_EQ(stream.num_done, 1);
  std::vector<std::string> texts(2);
  for (const Json& chunk : stream.chunks) {
    for (const Json& choice : chunk["choices"]) {
      texts.at(choice["index"].get<size_t>()) += choice["text"].get<std::string>();
    }
  }
  EXPECT_EQ(texts[0], "It is forty-two.");
  EXPECT_EQ(texts[1], "It is forty-two.");
  EXPECT_GT(stream.chunks.back()["usage"]["completion_tokens"], 2);
}

TEST_F(ResponsesServerTest, CompletionsRefuseWhatTheyCannotDo) {
  start();
  const RawResponse response = exchange(post_completion({{"suffix", "x"}}));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(Json::parse(response.body)["error"]["param"], "suffix");
}

}  // namespace
}  // namespace deepinfer::server
