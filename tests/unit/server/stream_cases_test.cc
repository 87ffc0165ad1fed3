// Group S of the field cases through the whole server, on every endpoint that streams.

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "endpoints.h"

namespace deepinfer::server {
namespace {

using ::deepinfer::testing::ScriptedCounts;
using std::chrono::milliseconds;
using testing::Answer;
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
  "PLAIN": [{"text": "It is forty-two.", "per_token": true}],
  "LINES": [{"text": "one\ntwo\r\n\nthree 🫠", "per_token": true}],
  "FIFTY": [{"text": " a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b a b", "per_token": true}],
  "STOPS": [{"text": "one two HALT three", "per_token": true}],
  "THINK": [{"text": "hm, hm</think>So.", "per_token": true}],
  "EMPTY": [],
  "CALL": [{"text": "I look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">é 🫠 漢字 👩‍👩‍👧</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>", "per_token": true}],
  "LONG": [{"text": "a", "repeat": true}],
  "ENDLESS": [{"text": "more ", "delay_ms": 5, "repeat": true}],
  "SLOW": [{"text": "late", "delay_ms": 250}],
  "SILENT": [{"text": "never", "delay_ms": 3600000}],
  "ATZERO": [{"fail": "the engine broke"}],
  "ATFIVE": [{"text": "one two three four five", "per_token": true}, {"delay_ms": 20, "fail": "the engine broke"}],
  "INTHOUGHT": [{"text": "hm, hm"}, {"delay_ms": 20, "fail": "the engine broke"}],
  "MIDTOOL": [{"text": "Look.\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x"}, {"delay_ms": 20, "fail": "the engine broke"}],
  "LATER": [{"delay_ms": 200, "fail": "the engine broke"}]
})";

const Json kStream = {{"stream", true}};
const Json kUsage = {{"stream", true}, {"stream_options", {{"include_usage", true}}}};

Json merged(Json base, const Json& more) {
  base.update(more);
  return base;
}

/// The tool `f` for Chat Completions.
Json chat_tools() {
  const Json tool = {{"type", "function"}, {"function", {{"name", "f"}}}};
  return {{"tools", Json::array({tool})}};
}

class FieldCaseStreams : public testing::ChatFixture {
 protected:
  FieldCaseStreams() { scenario_ = kScenario; }

  StreamedAnswer stream_of(const Endpoint& endpoint, const std::string& text,
                           const Json& more = kStream) {
    const RawResponse response = exchange(endpoint.post(text, merged(kStream, more)));
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_TRUE(response.complete) << endpoint.path << text;
    StreamedAnswer answer = read_stream(response.body);
    EXPECT_TRUE(answer.well_formed) << response.body;
    return answer;
  }
  Answer plain_of(const Endpoint& endpoint, const std::string& text,
                  const Json& more = Json::object()) {
    return read_plain(exchange(endpoint.post(text, more)).body);
  }
};

TEST_F(FieldCaseStreams, S02_CharactersStayWholeInsideArguments) {
  start();
  const Endpoint& chat = endpoints()[0];
  const StreamedAnswer stream = stream_of(chat, "CALL", chat_tools());
  ASSERT_EQ(stream.calls.size(), 1U);
  EXPECT_EQ(stream.calls[0].arguments, plain_of(chat, "CALL", chat_tools()).calls[0].arguments);
  EXPECT_EQ(Json::parse(stream.calls[0].arguments)["a"], "é 🫠 漢字 👩‍👩‍👧");
  for (const Json& event : stream.events) {
    EXPECT_EQ(event.dump().find("\xEF\xBF\xBD"), std::string::npos) << event;
  }
}

/// Megabytes of stream: every token with its log probabilities.
const Json kVoluminous = {
    {"stream", true}, {"max_tokens", 3000}, {"logprobs", true}, {"top_logprobs", 20}};

TEST_F(FieldCaseStreams, S02_AReaderThatPausesLosesNothing) {
  start();
  RawClient client = connect_with_receive_buffer(4096);
  client.send(endpoints()[0].post("LONG", kVoluminous));
  ASSERT_TRUE(client.read_until("data: "));
  std::this_thread::sleep_for(milliseconds(200));  // both socket buffers fill up meanwhile
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_TRUE(response->complete);
  const StreamedAnswer answer = read_stream(response->body);
  EXPECT_TRUE(answer.well_formed);
  EXPECT_EQ(answer.text, std::string(3000, 'a'));
  EXPECT_EQ(answer.num_done, 1);
}

TEST_F(FieldCaseStreams, S02_AReaderThatNeverReadsIsCutOffUncleanly) {
  tuning_.write_timeout = milliseconds(100);
  start();
  RawClient client = connect_with_receive_buffer(4096);
  client.send(endpoints()[0].post("LONG", kVoluminous));
  EXPECT_TRUE(llm_->wait_until([](const ScriptedCounts& counts) { return counts.cancelled == 1; }));
  const auto response = client.read_response();
  EXPECT_FALSE(response && response->complete);
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseStreams, S03_S04_S05_P01_UsageComesOnceBehindEveryChoice) {
  start();
  for (const Endpoint& endpoint : {endpoints()[0], endpoints()[3]}) {
    for (const int n : {1, 2}) {
      const StreamedAnswer stream = stream_of(endpoint, "PLAIN", merged(kUsage, {{"n", n}}));
      int ended = 0;
      for (size_t i = 0; i < stream.events.size(); ++i) {
        const Json& chunk = stream.events[i];
        ASSERT_TRUE(chunk.contains("choices")) << chunk;
        const bool has_usage = chunk.contains("usage") && !chunk["usage"].is_null();
        EXPECT_EQ(has_usage, i + 1 == stream.events.size()) << chunk;
        EXPECT_EQ(chunk["choices"].empty(), has_usage) << chunk;
        for (const Json& choice : chunk["choices"]) {
          ended += choice["finish_reason"].is_null() ? 0 : 1;
        }
      }
      EXPECT_EQ(ended, n);
      for (const char* count : {"prompt_tokens", "completion_tokens", "total_tokens"}) {
        EXPECT_TRUE(stream.usage[count].is_number_integer()) << stream.usage;
      }
      EXPECT_EQ(stream.usage, plain_of(endpoint, "PLAIN", {{"n", n}}).usage) << endpoint.path << n;
      const StreamedAnswer without = stream_of(endpoint, "PLAIN", {{"n", n}});
      for (const Json& chunk : without.events) {
        EXPECT_FALSE(chunk.contains("usage") && !chunk["usage"].is_null()) << chunk;
        EXPECT_FALSE(chunk["choices"].empty()) << chunk;
      }
    }
  }
}

TEST_F(FieldCaseStreams, S06_S07_S10_EveryChoiceEndsOnceBehindItsContent) {
  start();
  const Json thinking = {{"thinking", {{"type", "enabled"}}}};
  const std::vector<std::tuple<std::string, Json, std::string>> kEndings = {
      {"PLAIN", Json::object(), "stop"},
      {"EMPTY", Json::object(), "stop"},
      {"STOPS", {{"stop", "HALT"}}, "stop"},
      {"LONG", {{"max_tokens", 5}}, "length"},
      {"CALL", chat_tools(), "tool_calls"},
      {"THINK", thinking, "stop"},
      {"THINK", merged(thinking, {{"max_tokens", 2}}), "length"},
  };
  for (const auto& [text, more, ending] : kEndings) {
    for (const int n : {1, 2}) {
      std::set<int> ended;
      for (const Json& chunk : stream_of(endpoints()[0], text, merged(more, {{"n", n}})).events) {
        for (const Json& choice : chunk["choices"]) {
          const int index = choice["index"];
          EXPECT_EQ(ended.count(index), 0U) << "something follows the end: " << chunk;
          if (!choice["finish_reason"].is_null()) {
            EXPECT_EQ(choice["finish_reason"], ending) << text;
            ended.insert(index);
          }
        }
      }
      EXPECT_EQ(ended.size(), static_cast<size_t>(n)) << text;
    }
  }
}

TEST_F(FieldCaseStreams, S06_EveryProtocolSaysOnceHowItEnded) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    for (const std::string text : {"PLAIN", "EMPTY", "LONG"}) {
      const Json limit = {{endpoint.limit, 30}};
      const StreamedAnswer stream = stream_of(endpoint, text, limit);
      EXPECT_EQ(stream.num_endings, 1) << endpoint.path << text;
      EXPECT_EQ(stream.ending, plain_of(endpoint, text, limit).ending) << endpoint.path << text;
    }
  }
}

TEST_F(FieldCaseStreams, S08_DeltasCarryNoEmptyExtras) {
  start();
  for (const Json& chunk : stream_of(endpoints()[0], "PLAIN", chat_tools()).events) {
    for (const auto& [name, value] : chunk["choices"][0]["delta"].items()) {
      EXPECT_TRUE(name == "role" || name == "content") << chunk;
      EXPECT_TRUE(value.is_string()) << chunk;
    }
  }
}

TEST_F(FieldCaseStreams, S09_TheIndexCountsChoicesAndNotTokens) {
  start();
  for (const Endpoint& endpoint : {endpoints()[0], endpoints()[3]}) {
    const StreamedAnswer stream =
        stream_of(endpoint, "FIFTY", merged(kUsage, {{"max_tokens", 60}}));
    EXPECT_EQ(stream.usage["completion_tokens"], 51);  // and the one that ends it
    for (const Json& chunk : stream.events) {
      for (const Json& choice : chunk["choices"]) {
        EXPECT_EQ(choice["index"], 0) << chunk;
      }
    }
  }
}

TEST_F(FieldCaseStreams, S11_DoneIsSaidOnceAtTheEndOfASuccess) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const bool has_choices = endpoint.says_done;
    for (const int n : has_choices ? std::vector<int>{1, 3} : std::vector<int>{1}) {
      const Json choices = has_choices ? Json{{"n", n}} : Json::object();
      EXPECT_EQ(stream_of(endpoint, "PLAIN", choices).num_done, endpoint.says_done ? 1 : 0);
      if (has_choices) {
        EXPECT_EQ(stream_of(endpoint, "PLAIN", merged(kUsage, choices)).num_done, 1);
      }
      const RawResponse cut = exchange(endpoint.post("ATFIVE", merged(kStream, choices)));
      const StreamedAnswer broken = read_stream(cut.body);
      EXPECT_EQ(broken.num_done, 0) << endpoint.path << n;
      EXPECT_EQ(broken.num_errors, 1) << endpoint.path << n;
      EXPECT_TRUE(broken.well_formed) << cut.body;
    }
  }
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseStreams, S12_W02_W04_TooLongConversationsAreRefusedBeforeTheStream) {
  start();
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += i % 2 == 0 ? " a" : " b";
  }
  for (const Endpoint& endpoint : endpoints()) {
    for (const auto& [prompt, more] : std::vector<std::pair<std::string, Json>>{
             {text, Json::object()}, {"PLAIN", {{endpoint.limit, 4096}}}}) {
      const RawResponse plain = exchange(endpoint.post(prompt, more));
      const RawResponse stream = exchange(endpoint.post(prompt, merged(kStream, more)));
      EXPECT_EQ(plain.status, 400) << endpoint.path;
      EXPECT_EQ(stream.status, 400) << endpoint.path;
      EXPECT_EQ(stream.header("content-type"), "application/json");
      const Json error = Json::parse(plain.body)["error"];
      EXPECT_EQ(Json::parse(stream.body)["error"], error);
      EXPECT_NE(error["message"].get<std::string>().find("4096"), std::string::npos) << error;
      if (endpoint.path != "/v1/messages") {
        EXPECT_EQ(error["code"], "context_length_exceeded") << error;
      }
    }
  }
  EXPECT_EQ(llm_->counts().submitted, 0);
}

TEST_F(FieldCaseStreams, S13_AFailureBeforeTheFirstByteIsAStatus) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const RawResponse plain = exchange(endpoint.post("ATZERO"));
    const RawResponse stream = exchange(endpoint.post("ATZERO", kStream));
    EXPECT_EQ(plain.status, 500) << endpoint.path;
    EXPECT_EQ(stream.status, 500) << endpoint.path;
    EXPECT_EQ(Json::parse(stream.body)["error"], Json::parse(plain.body)["error"]);
  }
}

TEST_F(FieldCaseStreams, S13_S14_ALaterFailureIsOneEventAndAnUncleanEnd) {
  config_.sse_keep_alive_interval = milliseconds(50);
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const Json error = Json::parse(exchange(endpoint.post("ATZERO")).body)["error"];
    const bool chats = endpoint.path != "/v1/completions";
    // The last sends nothing but keep-alives before.
    for (const std::string text : {"ATFIVE", "INTHOUGHT", "MIDTOOL", "LATER"}) {
      Json request = endpoint.body(text, merged(kStream, {{endpoint.limit, 200}}));
      if (text == "INTHOUGHT" && chats) {
        request.erase(endpoint.no_thinking.begin().key());
      }
      RawClient client = connect();
      client.send(post_text(endpoint.path, request.dump()));
      const auto response = client.read_response();
      ASSERT_TRUE(response) << endpoint.path << text;
      EXPECT_EQ(response->status, 200) << endpoint.path << text;
      EXPECT_FALSE(response->complete) << "it must not look like success";
      EXPECT_TRUE(client.wait_for_close());
      const StreamedAnswer answer = read_stream(response->body);
      EXPECT_TRUE(answer.well_formed) << response->body;
      EXPECT_EQ(answer.num_errors, 1) << endpoint.path << text;
      EXPECT_EQ(answer.error, error) << endpoint.path << text;
      EXPECT_EQ(answer.num_endings, 0) << endpoint.path << text;
      EXPECT_EQ(answer.num_done, 0) << endpoint.path << text;
      EXPECT_TRUE(answer.usage.is_null()) << endpoint.path << text;
    }
  }
  EXPECT_TRUE(engine_is_empty());
}

TEST_F(FieldCaseStreams, S15_S16_SilenceWhileReadingThePromptIsFilled) {
  config_.sse_keep_alive_interval = milliseconds(20);
  start();
  for (const Endpoint& endpoint : endpoints()) {
    RawClient client = connect();
    client.send(endpoint.post("SLOW", kStream));
    // The head and a sign of life come long before the first token.
    EXPECT_TRUE(client.read_until("text/event-stream"));
    EXPECT_TRUE(client.read_until(": keep-alive\n\n"));
    EXPECT_EQ(client.received().find("late"), std::string::npos);
    const StreamedAnswer answer = read_stream(client.read_response()->body);
    EXPECT_TRUE(answer.well_formed);
    EXPECT_GE(answer.num_keep_alives, 2) << endpoint.path;
    EXPECT_EQ(answer.text, "late") << endpoint.path;
    EXPECT_EQ(answer.num_endings, 1) << endpoint.path;
  }
}

TEST_F(FieldCaseStreams, S15_SilenceInTheQueueIsFilled) {
  config_.sse_keep_alive_interval = milliseconds(20);
  limits_.max_running = 1;
  start();
  for (const Endpoint& endpoint : endpoints()) {
    RawClient running = connect();
    running.send(endpoint.post("ENDLESS", merged(kStream, {{endpoint.limit, 4000}})));
    ASSERT_TRUE(running.read_until("more"));
    RawClient queued = connect();
    queued.send(endpoint.post("PLAIN", kStream));
    EXPECT_TRUE(queued.read_until(": keep-alive\n\n")) << endpoint.path;
    EXPECT_EQ(llm_->counts().waiting, 1);
    running.close();
    EXPECT_EQ(read_stream(queued.read_response()->body).text, "It is forty-two.");
  }
}

TEST_F(FieldCaseStreams, S16_AClientThatLeavesWhileItsPromptIsReadCancelsIt) {
  config_.sse_keep_alive_interval = milliseconds(20);
  start();
  int left = 0;
  for (const Endpoint& endpoint : endpoints()) {
    for (const Json& mode : {Json::object(), kStream}) {
      RawClient client = connect();
      client.send(endpoint.post("SILENT", mode));
      ASSERT_TRUE(llm_->wait_until([](const ScriptedCounts& c) { return c.running == 1; }));
      client.close();
      ++left;
      EXPECT_TRUE(llm_->wait_until([left](const ScriptedCounts& c) {
        return c.cancelled == left && c.running == 0;
      })) << endpoint.path
          << mode;
    }
  }
}

TEST_F(FieldCaseStreams, S17_ZeroTurnsKeepAlivesOff) {
  config_.sse_keep_alive_interval = milliseconds(0);
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const RawResponse response = exchange(endpoint.post("SLOW", kStream));
    EXPECT_EQ(response.body.find("keep-alive"), std::string::npos) << endpoint.path;
    EXPECT_EQ(read_stream(response.body).text, "late") << endpoint.path;
  }
}

TEST_F(FieldCaseStreams, S18_S19_H05_StreamsAreStrictAndEqualThePlainAnswer) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    for (const std::string text : {"PLAIN", "LINES", "EMPTY", "FIFTY", "LONG"}) {
      const Json limit = {{endpoint.limit, 60}};
      const RawResponse response = exchange(endpoint.post(text, merged(kStream, limit)));
      EXPECT_EQ(response.header("content-type"), "text/event-stream") << endpoint.path;
      EXPECT_EQ(response.header("cache-control"), "no-cache") << endpoint.path;
      EXPECT_EQ(response.header("x-accel-buffering"), "no") << endpoint.path;
      const StreamedAnswer stream = read_stream(response.body);
      EXPECT_TRUE(stream.well_formed) << response.body;
      const Answer plain = plain_of(endpoint, text, limit);
      EXPECT_EQ(stream.text, plain.text) << endpoint.path << text;
      EXPECT_EQ(stream.ending, plain.ending) << endpoint.path << text;
      if (!stream.usage.is_null()) {
        EXPECT_EQ(stream.usage, plain.usage) << endpoint.path << text;
      }
    }
  }
}

}  // namespace
}  // namespace deepinfer::server
