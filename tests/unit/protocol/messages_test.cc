// Messages under the server's policy: what requests become and what clients see.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/messages/messages_error.h"
#include "support.h"

namespace deepinfer::protocol::test {
namespace {

Json with(Json base, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    base[name] = value;
  }
  return base;
}

std::string messages_body(const Json& extra = Json::object()) {
  Json body = {{"model", "m"}, {"max_tokens", 100}};
  body["messages"] = Json::array({{{"role", "user"}, {"content", "Hi"}}});
  return with(body, extra).dump();
}

PreparedCompletion prepared_from(const Json& extra) {
  auto prepared = prepare_messages(messages_body(extra), service(), v41_recipe(), "msg_1", 7);
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message();
  return prepared ? std::move(*prepared) : PreparedCompletion{};
}

Status refusal_of(const Json& extra) {
  auto prepared = prepare_messages(messages_body(extra), service(), v41_recipe(), "msg_1", 7);
  EXPECT_FALSE(prepared.has_value()) << extra;
  return prepared.status();
}

struct PlayedMessages {
  std::vector<Event> events;
  Json response;
};

PlayedMessages play_messages(const Json& request, const std::string& text, size_t group = 1,
                             FinishReason finish = FinishReason::kStop) {
  PreparedCompletion prepared = prepared_from(request);
  ResponseAssembler& assembler = *prepared.assembler;
  PlayedMessages played;
  const auto take = [&](std::vector<Event> events) {
    played.events.insert(played.events.end(), events.begin(), events.end());
  };
  const std::vector<TokenId> tokens = script(text);
  for (size_t at = 0; at < tokens.size() && !assembler.choice_done(0); at += group) {
    TokenOutput output;
    output.tokens.assign(
        tokens.begin() + static_cast<ptrdiff_t>(at),
        tokens.begin() + static_cast<ptrdiff_t>(std::min(tokens.size(), at + group)));
    output.usage.cached_tokens = 2;
    take(assembler.push(0, output));
  }
  if (!assembler.choice_done(0)) {
    TokenOutput last;
    if (finish == FinishReason::kStop) {
      last.tokens = {v41_recipe().control().eos};
    }
    last.finish = finish;
    take(assembler.push(0, last));
  }
  take(assembler.finish());
  played.response = Json::parse(assembler.response());
  return played;
}

const Json kOff = {{"thinking", {{"type", "disabled"}}}};

Json tool(const std::string& name) {
  return {{"name", name}, {"input_schema", {{"type", "object"}, {"properties", Json::object()}}}};
}

TEST(Messages, RendersSystemBlocksThinkingCallsAndResults) {
  const Json messages = Json::parse(R"([
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "t"},
      {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1.0}},
      {"type": "tool_use", "id": "2", "name": "f", "input": {}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "2", "content": "r2"},
      {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "r1"}]},
      {"type": "text", "text": "and?"}]}])");
  const std::string prompt =
      prompt_of(prepared_from({{"messages", messages},
                               {"system", Json::parse(R"([{"type":"text","text":"one"},
                                                          {"type":"text","text":"two"}])")},
                               {"tools", Json::array({tool("f")})}}));
  EXPECT_NE(prompt.find("one\n\ntwo"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("<think>hm</think>t\n\n"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("name=\"a\" string=\"false\">1.0<"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("<tool_result>r1</tool_result>\n\n<tool_result>r2</tool_result>\n\nand?"),
            std::string::npos)
      << prompt;
}

TEST(Messages, SamplingReachesTheEngine) {
  const PreparedCompletion prepared = prepared_from(
      {{"temperature", 0}, {"top_p", 0.5}, {"top_k", 7}, {"max_tokens", 11}, {"stream", true}});
  EXPECT_TRUE(prepared.stream);
  ASSERT_EQ(prepared.requests.size(), 1U);
  const GenerateRequest& request = prepared.requests[0];
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.max_tokens, 11);
  EXPECT_EQ(refusal_of({{"top_k", -2}}).param(), "top_k");
}

TEST(Messages, TheThinkingBudgetReachesTheEngine) {
  const Json on = {{"thinking", {{"type", "enabled"}, {"budget_tokens", 1024}}}};
  const auto limit = [](const Json& body) {
    return prepared_from(body).requests[0].sampling.thinking_limit;
  };
  EXPECT_EQ(limit(on)->max_tokens, 1024);
  EXPECT_EQ(limit(on)->close_token, v41_recipe().control().think_end);
  const Json off = {{"thinking", {{"type", "disabled"}, {"budget_tokens", 1024}}}};
  EXPECT_FALSE(limit(off).has_value());
}

TEST(Messages, ParallelToolUseCanBeTurnedOff) {
  Json tool = {{"name", "f"}};
  tool["input_schema"] = {{"type", "object"}};
  Json body = {{"thinking", {{"type", "disabled"}}}, {"tools", Json::array({tool})}};
  const std::string call =
      "<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">x"
      "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n";
  for (const bool disable : {false, true}) {
    body["tool_choice"] = {{"type", "auto"}, {"disable_parallel_tool_use", disable}};
    PreparedCompletion prepared = prepared_from(body);
    TokenOutput output;
    output.tokens = script("<｜DSML｜ calls>\n" + call + call + "</｜DSML｜ calls>");
    output.finish = FinishReason::kLength;
    prepared.assembler->push(0, output);
    const Json message = Json::parse(prepared.assembler->response());
    EXPECT_EQ(message["content"].size(), disable ? 1U : 2U);
    EXPECT_EQ(message["stop_reason"], disable ? "tool_use" : "max_tokens");
    EXPECT_EQ(message["stop_sequence"], nullptr);
  }
}

TEST(Messages, RefusalsNameTheMember) {
  const std::vector<std::pair<Json, std::string>> kBad = {
      {{{"max_tokens", 0}}, "max_tokens"},
      {{{"max_tokens", "x"}}, "max_tokens"},
      {{{"messages", Json::array()}}, "messages"},
      {Json::parse(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})"),
       "messages[0].content[0].text"},
      {Json::parse(R"({"messages":[{"role":"user","content":[{"type":"audio"}]}]})"),
       "messages[0].content[0].type"},
      {{{"stop_sequences", {"a", ""}}}, "stop_sequences[1]"},
      {{{"tools", Json::array({tool("a b")})}}, "tools[0].name"},
      {Json::parse(R"({"tools":[{"name":"f","input_schema":{}}]})"), "tools[0].input_schema"},
      {Json::parse(R"({"tools":[{"type":"bash_20250124","name":"bash"}]})"), "tools[0]"},
      {{{"tool_choice", {{"type", "any"}}}}, "tool_choice"},
      {Json::parse(R"({"messages":[{"role":"user","content":[{"type":"image","source":
          {"type":"base64","media_type":"image/png","data":"AAAA"}}]}]})"),
       "messages.0.content[0]"},
  };
  for (const auto& [extra, param] : kBad) {
    EXPECT_EQ(refusal_of(extra).param(), param) << extra;
  }
}

TEST(Messages, EventsOfAThinkingAnswer) {
  const PlayedMessages played = play_messages({{"stream", true}}, "hm</think>\n\nyes");
  std::vector<std::string> names;
  for (const Event& event : played.events) {
    names.push_back(event.name);
    EXPECT_EQ(Json::parse(event.data)["type"], event.name);
  }
  const std::vector<std::string> expected = {
      "message_start",       "content_block_start", "ping",
      "content_block_delta", "content_block_delta", "content_block_stop",
      "content_block_start", "content_block_delta", "content_block_stop",
      "message_delta",       "message_stop"};
  EXPECT_EQ(names, expected);
  EXPECT_EQ(played.response["content"][0]["signature"], "msg_1");
  EXPECT_EQ(played.response["usage"]["cache_read_input_tokens"], 2);
}

TEST(Messages, ACallCutByTheLimitIsLeftOutOfThePlainAnswer) {
  const std::string cut =
      "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" "
      "string=\"true\">xy";
  const Json request = with(kOff, {{"tools", Json::array({tool("f")})}});
  const PlayedMessages played = play_messages(request, "So: " + cut, 1, FinishReason::kLength);
  EXPECT_EQ(played.response["stop_reason"], "max_tokens");
  ASSERT_EQ(played.response["content"].size(), 1U) << played.response;
  EXPECT_EQ(played.response["content"][0]["type"], "text");
}

TEST(Messages, TheGroupingOfTokensDoesNotShow) {
  const std::string text =
      "a\n</think>\n\nb\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter "
      "name=\"k\" string=\"false\">[1, \"é\"]</｜DSML｜ parameter>\n</｜DSML｜ "
      "invoke>\n</｜DSML｜ calls>";
  const Json request = {{"tools", Json::array({tool("f")})}};
  Json first;
  for (const size_t group : {1, 2, 5, 1000}) {
    Json response = play_messages(request, text, group).response;
    ASSERT_EQ(response["content"].size(), 3U) << response;
    EXPECT_EQ(response["content"][2]["input"], Json::parse(R"({"k":[1,"é"]})"));
    response["content"][2].erase("id");
    first = first.is_null() ? response : first;
    EXPECT_EQ(response, first);
  }
}

TEST(Messages, KeepsASilentStreamAliveOnceItHasBegun) {
  PreparedCompletion prepared = prepared_from(with(kOff, {{"stream", true}}));
  EXPECT_TRUE(prepared.assembler->keep_alive().empty());
  TokenOutput output;
  output.tokens = script("hello");
  prepared.assembler->push(0, output);
  const auto pings = prepared.assembler->keep_alive();
  ASSERT_EQ(pings.size(), 1U);
  EXPECT_EQ(pings[0].name, "ping");
  EXPECT_EQ(pings[0].data, R"({"type":"ping"})");
}

TEST(Messages, ErrorsHaveTheirOwnShape) {
  PreparedCompletion prepared = prepared_from(kOff);
  const Status failure = unavailable("gone").with_reason("engine_failed");
  const auto events =
      prepared.assembler->failed(messages_error_body(messages_error_type(failure), failure));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "error");
  EXPECT_EQ(
      events[0].data,
      R"({"type":"error","error":{"type":"api_error","message":"gone","code":"engine_failed"}})");
}

TEST(Messages, CountsTheTokensOfThePrompt) {
  const auto counted = count_messages_tokens(messages_body(), service(), v41_recipe());
  ASSERT_TRUE(counted.has_value());
  EXPECT_EQ(Json::parse(*counted)["input_tokens"], prepared_from({}).requests[0].prompt.size());
}

}  // namespace
}  // namespace deepinfer::protocol::test
