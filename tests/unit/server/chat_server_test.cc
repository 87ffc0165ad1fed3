#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "chat_fixture.h"
#include "server/metrics_route.h"

namespace deepinfer::server {
namespace {

using ::deepinfer::testing::ScriptedCounts;
using std::chrono::milliseconds;
using testing::get_text;
using testing::Json;
using testing::parse_stream;
using testing::ParsedStream;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;

class ChatServerTest : public testing::ChatFixture {};
class FieldCaseServer : public testing::ChatFixture {};

const Json kStream = {{"stream", true}};
const Json kStreamUsage = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};

TEST_F(ChatServerTest, AnswersPlain) {
  start();
  const RawResponse response = exchange(chat_post("PLAIN"));
  ASSERT_EQ(response.status, 200) << response.body;
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "It is forty-two.");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["id"], "chatcmpl-" + response.header("x-request-id"));
  EXPECT_NE(response.header("server-timing").find("decode;dur="), std::string::npos);
}

TEST_F(FieldCaseServer, S19_StreamAndPlainAgree) {
  start();
  for (const char* marker : {"PLAIN", "EMOJI", "LINES"}) {
    const Json plain = Json::parse(exchange(chat_post(marker)).body);
    const RawResponse response = exchange(chat_post(marker, kStreamUsage));
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(response.complete);
    const ParsedStream stream = parse_stream(response.body);
    EXPECT_EQ(stream.content(), plain["choices"][0]["message"]["content"]);
    EXPECT_EQ(stream.chunks.back()["usage"], plain["usage"]);
  }
}

TEST_F(FieldCaseServer, S03_S04_S05_S06_S07_S09_S11_S18_ShapeOfAStream) {
  start();
  const ParsedStream stream = parse_stream(exchange(chat_post("PLAIN", kStreamUsage)).body);
  EXPECT_TRUE(stream.well_formed);
  EXPECT_EQ(stream.num_done, 1);
  int finishes = 0;
  int usages = 0;
  for (const Json& chunk : stream.chunks) {
    ASSERT_TRUE(chunk.contains("choices"));
    usages += chunk.contains("usage") && !chunk["usage"].is_null() ? 1 : 0;
    for (const Json& choice : chunk["choices"]) {
      EXPECT_EQ(choice["index"], 0);
      finishes += choice["finish_reason"].is_null() ? 0 : 1;
      EXPECT_FALSE(choice["delta"].contains("tool_calls"));
    }
  }
  EXPECT_EQ(finishes, 1);
  EXPECT_EQ(usages, 1);
  EXPECT_TRUE(stream.chunks.back()["choices"].empty());
  const ParsedStream without = parse_stream(exchange(chat_post("PLAIN", kStream)).body);
  EXPECT_FALSE(without.chunks.back()["choices"].empty());
}

TEST_F(FieldCaseServer, H05_StreamHeadersForbidBuffering) {
  start();
  const RawResponse response = exchange(chat_post("PLAIN", kStream));
  EXPECT_EQ(response.header("content-type"), "text/event-stream");
  EXPECT_EQ(response.header("cache-control"), "no-cache");
  EXPECT_EQ(response.header("x-accel-buffering"), "no");
}

TEST_F(ChatServerTest, KeepsTheConnectionBehindAStream) {
  start();
  RawClient client = connect();
  client.send(chat_post("PLAIN", kStream) + chat_post("PLAIN"));
  EXPECT_EQ(parse_stream(client.read_response()->body).content(), "It is forty-two.");
  EXPECT_EQ(client.read_response()->status, 200);
}

TEST_F(ChatServerTest, StreamsToHttp10WithoutChunks) {
  start();
  const std::string body = chat("PLAIN", kStream);
  const RawResponse response = exchange(
      "POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.count("transfer-encoding"), 0U);
  EXPECT_EQ(parse_stream(response.body).content(), "It is forty-two.");
}

TEST_F(ChatServerTest, AnswersSeveralChoices) {
  start();
  const Json plain = Json::parse(exchange(chat_post("PLAIN", {{"n", 3}})).body);
  ASSERT_EQ(plain["choices"].size(), 3U);
  const RawResponse response = exchange(chat_post("PLAIN", {{"n", 3}, {"stream", true}}));
  std::set<int> finished;
  const ParsedStream stream = parse_stream(response.body);
  for (const Json& chunk : stream.chunks) {
    for (const Json& choice : chunk["choices"]) {
      if (!choice["finish_reason"].is_null()) {
        EXPECT_TRUE(finished.insert(choice["index"].get<int>()).second);
      }
    }
  }
  EXPECT_EQ(finished, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(stream.num_done, 1);
}

TEST_F(FieldCaseServer, S12_RefusalsHaveARealStatusInBothModes) {
  start();
  for (const Json& mode : {Json::object(), kStream}) {
    Json bad = mode;
    bad["temperature"] = -1;
    const RawResponse invalid = exchange(chat_post("PLAIN", bad));
    EXPECT_EQ(invalid.status, 400);
    EXPECT_EQ(Json::parse(invalid.body)["error"]["param"], "temperature");
    const RawResponse full = exchange(chat_post("FULL", mode));
    EXPECT_EQ(full.status, 503);
    EXPECT_EQ(full.header("retry-after"), "1");
    EXPECT_EQ(Json::parse(full.body)["error"]["code"], "server_overloaded");
    EXPECT_EQ(exchange(chat_post("GONE", mode)).status, 503);
    Json unknown = mode;
    unknown["model"] = "other";
    const RawResponse model = exchange(chat_post("PLAIN", unknown));
    EXPECT_EQ(model.status, 404);
    EXPECT_EQ(Json::parse(model.body)["error"]["code"], "model_not_found");
  }
}

TEST_F(FieldCaseServer, S13_S14_FailuresAreTold) {
  config_.sse_keep_alive_interval = milliseconds(50);
  start();
  for (const Json& mode : {Json::object(), kStream}) {
    EXPECT_EQ(exchange(chat_post("BROKEN", mode)).status, 500);
  }
  const Json plain_error = Json::parse(exchange(chat_post("BROKEN")).body)["error"];
  EXPECT_EQ(plain_error["type"], "server_error");
  for (const char* marker : {"BREAKS", "LATER"}) {
    const RawResponse cut = exchange(chat_post(marker, kStream));
    EXPECT_EQ(cut.status, 200);
    EXPECT_FALSE(cut.complete) << "the end must not look like success";
    const ParsedStream stream = parse_stream(cut.body);
    ASSERT_FALSE(stream.chunks.empty());
    EXPECT_EQ(stream.chunks.back()["error"], plain_error);
    for (const Json& chunk : stream.chunks) {
      if (chunk.contains("choices")) {
        for (const Json& choice : chunk["choices"]) {
          EXPECT_TRUE(choice["finish_reason"].is_null());
        }
      }
    }
  }
}

TEST_F(FieldCaseServer, S15_S17_SilenceIsFilledWithComments) {
  config_.sse_keep_alive_interval = milliseconds(20);
  start();
  const RawResponse response = exchange(chat_post("SLOW", kStream));
  const ParsedStream stream = parse_stream(response.body);
  EXPECT_TRUE(stream.well_formed);
  EXPECT_GE(stream.num_comments, 2);
  EXPECT_EQ(stream.content(), "late");
  EXPECT_EQ(response.body.compare(0, 14, ": keep-alive\n\n"), 0);
}

TEST_F(FieldCaseServer, C01_C02_LeavingClientsCancelInEveryMode) {
  start();
  int expected = 0;
  for (const char* marker : {"ENDLESS", "SILENT"}) {
    for (const Json& mode : {Json::object(), kStream}) {
      for (const int way : {0, 1, 2}) {
        RawClient client = connect();
        client.send(chat_post(marker, mode));
        ASSERT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.running == 1; }));
        if (way == 0) client.close();
        if (way == 1) client.reset();
        if (way == 2) client.half_close();
        ++expected;
        EXPECT_TRUE(llm_->wait_until([expected](const ScriptedCounts& c) {
          return c.cancelled == expected;
        })) << marker
            << " " << mode << " " << way;
      }
    }
  }
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseServer, C01_AFinBehindPipelinedBytesCancelsToo) {
  start();
  RawClient client = connect();
  client.send(chat_post("ENDLESS", kStream) + "GET /health HTTP/1.1\r\n");
  ASSERT_TRUE(client.read_until("more"));
  client.close();
  EXPECT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.cancelled == 1; }));
}

TEST_F(FieldCaseServer, C06_QueuedRequestsOfLeftClientsNeverStart) {
  limits_.max_running = 1;
  start();
  RawClient running = connect();
  running.send(chat_post("ENDLESS", kStream));
  ASSERT_TRUE(running.read_until("more"));
  std::vector<RawClient> queued;
  for (int i = 0; i < 5; ++i) {
    queued.push_back(connect());
    queued.back().send(chat_post("PLAIN"));
  }
  ASSERT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.waiting == 5; }));
  for (int i = 0; i < 4; ++i) {
    queued[static_cast<size_t>(i)].close();
  }
  EXPECT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.waiting == 1; }));
  running.close();
  EXPECT_EQ(queued.back().read_response()->status, 200);
  EXPECT_TRUE(engine_is_empty());
  EXPECT_EQ(llm_->counts().cancelled_waiting, 4);
}

TEST_F(FieldCaseServer, O01_TheQueueHasABound) {
  limits_ = {.max_running = 2, .max_waiting = 4};
  start();
  std::vector<RawClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(connect());
    clients.back().send(chat_post("ENDLESS", kStream));
  }
  ASSERT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.waiting == 4; }));
  for (int i = 0; i < 7; ++i) {
    const RawResponse refused =
        exchange(chat_post("ENDLESS", i % 2 == 0 ? kStream : Json::object()));
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.header("retry-after"), "1");
    EXPECT_NE(refused.header("content-type"), "text/event-stream");
  }
  clients.clear();
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseServer, V07_DeepBodiesAreRefusedOnTheRealStack) {
  start();
  RawClient other = connect();
  other.send(chat_post("ENDLESS", kStream));
  ASSERT_TRUE(other.read_until("more"));
  for (const size_t depth : {100U, 3000U, 100000U}) {
    const std::string nested = std::string(depth, '[') + std::string(depth, ']');
    for (const char* member : {"tools", "metadata", "messages"}) {
      const std::string body =
          R"({"model":"scripted","messages":[{"role":"user","content":"PLAIN"}],")" +
          std::string(member) + "\":" + nested + "}";
      EXPECT_EQ(exchange(post_text("/v1/chat/completions", body)).status, 400) << depth << member;
    }
    EXPECT_EQ(exchange(post_text("/v1/chat/completions", std::string(depth, '{'))).status, 400);
  }
  other.close();
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseServer, V08_DuplicateKeysAreRefused) {
  start();
  const RawResponse response = exchange(post_text(
      "/v1/chat/completions",
      R"({"model":"scripted","stream":false,"stream":true,"messages":[{"role":"user","content":"PLAIN"}]})"));
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.header("content-type"), "application/json");
}

TEST_F(ChatServerTest, RefusesOtherContentTypes) {
  start();
  const std::string body = chat("PLAIN");
  EXPECT_EQ(exchange("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
                     "Content-Length: " +
                     std::to_string(body.size()) + "\r\n\r\n" + body)
                .status,
            415);
}

// Web pages may post a body without a type to any address, but not without their origin.
TEST_F(ChatServerTest, RefusesBodiesWithoutATypeFromWebPages) {
  start();
  const std::string body = chat("PLAIN");
  const auto status_with = [&](const std::string& header) {
    return exchange("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n" + header +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
        .status;
  };
  EXPECT_EQ(status_with(""), 200);
  EXPECT_EQ(status_with("Origin: https://page\r\n"), 415);
  EXPECT_EQ(status_with("Origin: https://page\r\nContent-Type: application/json\r\n"), 200);
}

TEST_F(ChatServerTest, TheRequestTimeoutEndsARequest) {
  config_.request_timeout = milliseconds(50);
  start();
  EXPECT_EQ(exchange(chat_post("SILENT")).status, 504);
  EXPECT_EQ(exchange(chat_post("SILENT", kStream)).status, 504);
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(ChatServerTest, TheRequestTimeoutEndsAStreamWithATypedError) {
  config_.request_timeout = milliseconds(1'000);
  start();
  const RawResponse cut = exchange(chat_post("ENDLESS", kStream));
  EXPECT_EQ(cut.status, 200);
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(parse_stream(cut.body).chunks.back()["error"]["type"], "timeout_error");
}

TEST_F(FieldCaseServer, F04_F05_H08_NotReadyUntilLoaded) {
  listen();
  EXPECT_EQ(exchange(get_text("/livez")).status, 200);
  for (const char* path : {"/health", "/readyz", "/ready", "/v1/health/ready", "/v1/models"}) {
    EXPECT_EQ(exchange(get_text(path)).status, 503) << path;
  }
  const RawResponse early = exchange(chat_post("PLAIN"));
  EXPECT_EQ(early.status, 503);
  EXPECT_EQ(early.header("retry-after"), "1");
  EXPECT_EQ(Json::parse(early.body)["error"]["code"], "model_loading");
  EXPECT_EQ(Json::parse(exchange(get_text("/health")).body)["status"], "loading");
  load();
  EXPECT_EQ(exchange(get_text("/health")).status, 200);
  const RawResponse models = exchange(get_text("/v1/models?limit=5"));
  EXPECT_EQ(models.status, 200);
  const Json data = Json::parse(models.body)["data"];
  EXPECT_EQ(data[0]["id"], "scripted");
  EXPECT_TRUE(data[0]["max_model_len"].is_number_integer());
  EXPECT_TRUE(data[0]["meta"].is_object());
  EXPECT_EQ(Json::parse(exchange(get_text("/v1/models/alias")).body)["id"], "alias");
  EXPECT_EQ(exchange(get_text("/v1/models/none")).status, 404);
  EXPECT_EQ(exchange(get_text("/v1/models", "", "HEAD")).status, 200);
}

TEST_F(FieldCaseServer, F08_HealthIsASmallDocument) {
  start();
  exchange(chat_post("PLAIN"));
  const Json body = Json::parse(exchange(get_text("/health")).body);
  for (const char* key : {"status", "phase", "progress", "version", "model", "uptime_seconds",
                          "last_step_age_seconds", "running", "waiting"}) {
    EXPECT_TRUE(body.contains(key)) << key;
  }
  EXPECT_EQ(body["status"], "ok");
  EXPECT_EQ(body["phase"], "serving");
}

TEST_F(FieldCaseServer, F02_AFailedEngineIsNotReadyAndTakesNothing) {
  start();
  llm_->set_health(internal_error("no progress for 120 s"));
  const RawResponse health = exchange(get_text("/health"));
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(Json::parse(health.body)["reason"], "no progress for 120 s");
  EXPECT_EQ(exchange(get_text("/livez")).status, 503);
  EXPECT_EQ(exchange(chat_post("PLAIN")).status, 503);
}

TEST_F(FieldCaseServer, F09_F10_F11_DrainLetsStreamsFinish) {
  start();
  RawClient running = connect();
  running.send(chat_post("STEADY", kStream));
  ASSERT_TRUE(running.read_until("tick"));
  service_->begin_drain();
  EXPECT_EQ(exchange(get_text("/health")).status, 503);
  EXPECT_EQ(exchange(get_text("/livez")).status, 200);
  const RawResponse refused = exchange(chat_post("PLAIN"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(Json::parse(refused.body)["error"]["type"], "server_draining");
  server_->drain(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  const auto response = running.read_response();
  EXPECT_TRUE(response->complete);
  EXPECT_EQ(parse_stream(response->body).num_done, 1);
  EXPECT_FALSE(connect().connected());
}

TEST_F(FieldCaseServer, F09_WhatIsLeftAtTheDeadlineIsToldSo) {
  start();
  RawClient stream = connect();
  stream.send(chat_post("ENDLESS", kStream));
  ASSERT_TRUE(stream.read_until("more"));
  RawClient plain = connect();
  plain.send(chat_post("ENDLESS"));
  ASSERT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.running == 2; }));
  server_->drain(std::chrono::steady_clock::now());
  const auto cut = stream.read_response();
  EXPECT_FALSE(cut->complete);
  const auto refused = plain.read_response();
  EXPECT_EQ(refused->status, 503);
  const Json error = parse_stream(cut->body).chunks.back()["error"];
  EXPECT_EQ(error["type"], "server_draining");
  EXPECT_EQ(error["code"], "server_draining");
  EXPECT_EQ(error, Json::parse(refused->body)["error"]);
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(ChatServerTest, AFailedEngineIsNoShutdown) {
  start();
  RawClient stream = connect();
  stream.send(chat_post("ENDLESS", kStream));
  ASSERT_TRUE(stream.read_until("more"));
  service_->fail(unavailable("a step hangs"));
  server_->drain(std::chrono::steady_clock::now());
  const Json error = parse_stream(stream.read_response()->body).chunks.back()["error"];
  EXPECT_EQ(error["code"], "engine_failed");
  EXPECT_EQ(error["message"], "the engine has failed: a step hangs");
}

TEST_F(FieldCaseServer, A01_A02_EveryRouteNeedsAKeyUnlessListed) {
  config_.api_keys = {"right"};
  start();
  const std::set<std::string> open = {"/",       "/livez",   "/v1/health/live",
                                      "/readyz", "/ready",   "/v1/health/ready",
                                      "/health", "/version", "/metrics"};
  const auto listed = server_->open_paths();
  EXPECT_EQ(std::set<std::string>(listed.begin(), listed.end()), open);
  for (const std::string& path : open) {
    EXPECT_EQ(exchange(get_text(path)).status, 200) << path;
  }
  for (const std::string path : {"/v1/models", "/v1/models/scripted", "/nothing", "/v1/MODELS",
                                 "/v1//models", "/v1/health", "/health/x"}) {
    EXPECT_EQ(exchange(get_text(path)).status, 401) << path;
    EXPECT_EQ(exchange(get_text(path, "Authorization: Bearer wrong\r\n")).status, 401);
    EXPECT_NE(exchange(get_text(path, "Authorization: Bearer right\r\n")).status, 401);
    EXPECT_NE(exchange(get_text(path, "x-api-key: right\r\n")).status, 401);
  }
  EXPECT_EQ(exchange(chat_post("PLAIN")).status, 401);
  EXPECT_EQ(
      exchange(post_text("/v1/chat/completions", chat("PLAIN"), "Authorization: Bearer right\r\n"))
          .status,
      200);
  EXPECT_EQ(llm_->counts().submitted, 1);
}

TEST_F(ChatServerTest, MetricsFollowTheEngine) {
  start();
  exchange(chat_post("PLAIN"));
  const RawResponse page = exchange(get_text("/metrics"));
  EXPECT_EQ(page.header("content-type"), "text/plain; version=0.0.4");
  EXPECT_NE(page.body.find("deepinfer:request_success_total{model_name=\"scripted\",engine=\"0\","
                           "finished_reason=\"stop\"} 1\n"),
            std::string::npos)
      << page.body;
  EXPECT_NE(
      page.body.find("deepinfer:num_requests_running{model_name=\"scripted\",engine=\"0\"} 0"),
      std::string::npos);
}

TEST_F(FieldCaseServer, C04_ManyAbortsLeaveNothingBehind) {
  start();
  for (int i = 0; i < 200; ++i) {
    RawClient client = connect();
    client.send(
        chat_post(i % 3 == 0 ? "SILENT" : "ENDLESS", i % 2 == 0 ? kStream : Json::object()));
    if (i % 5 == 0) {
      client.reset();
    }
  }
  EXPECT_TRUE(engine_is_empty());
  EXPECT_EQ(exchange(chat_post("PLAIN")).status, 200);
}

}  // namespace
}  // namespace deepinfer::server
