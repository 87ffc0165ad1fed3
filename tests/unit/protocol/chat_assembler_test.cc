// Groups S, L and P of the field cases, as far as one completion's events and response go.

#include <gtest/gtest.h>

#include <limits>

#include "protocol/conversion.h"
#include "support.h"

namespace deepinfer::protocol::test {
namespace {

const Json kPlain = {{"thinking", {{"type", "disabled"}}}, {"stream", true}};

Json with(Json base, const Json& extra) {
  for (const auto& [name, value] : extra.items()) {
    base[name] = value;
  }
  return base;
}

std::vector<Event> all_of(ResponseAssembler& assembler, int32_t choices, const std::string& text) {
  std::vector<Event> events;
  const auto add = [&](std::vector<Event> more) {
    events.insert(events.end(), more.begin(), more.end());
  };
  for (int32_t choice = 0; choice < choices; ++choice) {
    TokenOutput output;
    output.tokens = script(text);
    output.tokens.push_back(v41_recipe().control().eos);
    output.finish = FinishReason::kStop;
    add(assembler.push(choice, output));
  }
  add(assembler.finish());
  return events;
}

TEST(FieldCase, S03_S04_UsageComesOnceInAChunkWithoutChoices) {
  const Played played =
      play(with(kPlain, {{"stream_options", {{"include_usage", true}}}}), script("hello"));
  int usages = 0;
  for (size_t i = 0; i < played.chunks.size(); ++i) {
    const Json& chunk = played.chunks[i];
    ASSERT_TRUE(chunk.contains("choices"));
    if (chunk.contains("usage")) {
      ++usages;
      EXPECT_EQ(chunk["choices"], Json::array());
      EXPECT_EQ(i + 1, played.chunks.size());
      EXPECT_EQ(chunk["usage"], played.response["usage"]);
    }
  }
  EXPECT_EQ(usages, 1);
  EXPECT_TRUE(played.done_event);
}

TEST(FieldCase, S05_WithoutIncludeUsageThereIsNone) {
  for (const Json& chunk : play(kPlain, script("hello")).chunks) {
    EXPECT_FALSE(chunk.contains("usage"));
  }
}

TEST(FieldCase, S06_S07_ExactlyOneFinishPerChoice) {
  const std::string call =
      "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" "
      "string=\"true\">x</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  const std::vector<std::string> outputs = {"",
                                            "text",
                                            "text STOP more",
                                            "ends with STOP",
                                            "</think>",
                                            "<｜DSML｜",
                                            "hm</think>so",
                                            "look\n\n" + call,
                                            call,
                                            "hm</think>" + call};
  Json tool = {{"name", "f"}};
  const Json tools = {{"tools", Json::array({{{"type", "function"}, {"function", tool}}})}};
  const Json thinking = {{"thinking", {{"type", "enabled"}}}, {"stream", true}};
  for (const std::string& output : outputs) {
    const std::vector<TokenId> tokens = script(output);
    for (const Json& mode : {kPlain, thinking, with(kPlain, tools), with(thinking, tools)}) {
      for (const FinishReason finish : {FinishReason::kStop, FinishReason::kLength}) {
        for (const size_t group : {1, 2, 3, 5, 0}) {
          const Played played = play(with(mode, {{"stop", "STOP"}}), tokens, group, finish);
          ASSERT_EQ(played.finish_reasons.size(), 1U) << output;
          EXPECT_FALSE(played.chunks.back()["choices"][0]["finish_reason"].is_null());
        }
      }
    }
  }
}

TEST(FieldCase, S07_S09_S11_SeveralChoicesFinishOnceEachAndTheStreamOnce) {
  PreparedCompletion prepared =
      prepare(chat_body(with(kPlain, {{"n", 3}, {"stream_options", {{"include_usage", true}}}})));
  ASSERT_EQ(prepared.requests.size(), 3U);
  std::vector<int> finishes(3);
  int done = 0;
  for (const Event& event : all_of(*prepared.assembler, 3, "hi")) {
    EXPECT_TRUE(event.name.empty());
    if (event.data == "[DONE]") {
      ++done;
      continue;
    }
    EXPECT_EQ(done, 0);
    const Json chunk = Json::parse(event.data);
    for (const Json& choice : chunk["choices"]) {
      finishes.at(choice["index"].get<size_t>()) += choice["finish_reason"].is_null() ? 0 : 1;
    }
  }
  EXPECT_EQ(finishes, (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(done, 1);
  const Json response = Json::parse(prepared.assembler->response());
  EXPECT_EQ(response["choices"].size(), 3U);
  EXPECT_EQ(response["choices"][2]["index"], 2);
  EXPECT_EQ(response["usage"]["completion_tokens"], 3 * (script("hi").size() + 1));
}

TEST(ChatAssembler, EveryChunkCarriesTheUsageSoFarWhereAsked) {
  const Json options = {{"include_usage", true}, {"continuous_usage_stats", true}};
  const Played played = play(with(kPlain, {{"stream_options", options}}), script("one two three"));
  uint64_t last = 0;
  for (const Json& chunk : played.chunks) {
    const auto now = chunk["usage"]["completion_tokens"].get<uint64_t>();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(played.chunks.front()["usage"]["completion_tokens"], 1);
  EXPECT_TRUE(played.chunks.back()["choices"].empty());
  EXPECT_EQ(played.chunks.back()["usage"], played.response["usage"]);
  // Without `include_usage` it asks for nothing.
  const Json alone = {{"continuous_usage_stats", true}};
  for (const Json& chunk : play(with(kPlain, {{"stream_options", alone}}), script("a")).chunks) {
    EXPECT_FALSE(chunk.contains("usage"));
  }
}

TEST(FieldCase, R07_TheReasoningGoesOutUnderTheNamesOfTheServer) {
  using Names = std::vector<std::string>;
  for (const Names& names :
       {Names{"reasoning_content"}, Names{"reasoning"}, Names{"reasoning_content", "reasoning"}}) {
    ServiceInfo info = service();
    info.reasoning_fields = names;
    auto prepared =
        prepare_chat_completion(chat_body({{"stream", true}}), info, v41_recipe(), "i", 0);
    ASSERT_TRUE(prepared.has_value());
    Json streamed = Json::object();
    for (const Event& event : all_of(*prepared->assembler, 1, "so it is</think>yes")) {
      if (event.data != "[DONE]") {
        const Json delta = Json::parse(event.data)["choices"][0]["delta"];
        for (const auto& [name, value] : delta.items()) {
          streamed[name] = streamed.value(name, "") + value.get<std::string>();
        }
      }
    }
    const Json message = Json::parse(prepared->assembler->response())["choices"][0]["message"];
    Json expected = {{"role", "assistant"}, {"content", "yes"}};
    for (const std::string& name : names) {
      expected[name] = "so it is";
    }
    // The members come in different orders.
    EXPECT_EQ(nlohmann::json(streamed), nlohmann::json(expected));
    EXPECT_EQ(nlohmann::json(message), nlohmann::json(expected));
  }
}

TEST(FieldCase, R07_BothNamesCountInTheHistory) {
  std::string prompts[2];
  for (int i = 0; i < 2; ++i) {
    Json assistant = {{"role", "assistant"}, {"content", ""}};
    assistant[i == 0 ? "reasoning_content" : "reasoning"] = "so it is";
    const Json function = {{"name", "f"}, {"arguments", "{}"}};
    assistant["tool_calls"] =
        Json::array({{{"id", "c"}, {"type", "function"}, {"function", function}}});
    const Json messages =
        Json::array({{{"role", "user"}, {"content", "a"}},
                     assistant,
                     {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "b"}}});
    const Json tools = Json::array({{{"type", "function"}, {"function", {{"name", "f"}}}}});
    prompts[i] = prompt_of(prepare(chat_body({{"messages", messages}, {"tools", tools}})));
  }
  EXPECT_NE(prompts[0].find("so it is"), std::string::npos);
  EXPECT_EQ(prompts[0], prompts[1]);
}

TEST(FieldCase, S08_DeltasHaveNoEmptyExtras) {
  Json tool = {{"name", "f"}};
  const Json request =
      with(kPlain, {{"tools", Json::array({{{"type", "function"}, {"function", tool}}})}});
  for (const Json& chunk : play(request, script("plain text")).chunks) {
    const Json& delta = chunk["choices"][0]["delta"];
    EXPECT_FALSE(delta.contains("tool_calls"));
    for (const auto& [name, value] : delta.items()) {
      EXPECT_FALSE(value.is_null()) << name;
    }
  }
}

TEST(FieldCase, S10_UnfinishedChunksSayNull) {
  const Played played = play(kPlain, script("one two three"));
  for (size_t i = 0; i + 1 < played.chunks.size(); ++i) {
    EXPECT_TRUE(played.chunks[i]["choices"][0]["finish_reason"].is_null());
    EXPECT_EQ(played.chunks[i]["choices"][0]["index"], 0);
  }
}

TEST(FieldCase, S13_AFailureIsOneErrorEvent) {
  PreparedCompletion prepared = prepare(chat_body(kPlain));
  const Status failure = unavailable("engine gone").with_reason("engine_failed");
  const auto events = prepared.assembler->failed(error_body(failure, RecipePolicy::server()));
  ASSERT_EQ(events.size(), 1U);
  const Json error = Json::parse(events[0].data)["error"];
  EXPECT_EQ(error["message"], "engine gone");
  EXPECT_EQ(error["code"], "engine_failed");
  EXPECT_EQ(error["param"], nullptr);
}

TEST(FieldCase, S18_EventsAreOneLine) {
  PreparedCompletion prepared = prepare(chat_body(kPlain));
  for (const Event& event : all_of(*prepared.assembler, 1, "a\nb\r\nc\xE2\x80\xA8")) {
    EXPECT_EQ(event.data.find('\n'), std::string::npos);
    EXPECT_EQ(event.data.find('\r'), std::string::npos);
  }
}

TEST(FieldCase, S19_StreamedAndPlainAnswersAreEqual) {
  const Json plain_request = {{"thinking", {{"type", "disabled"}}}};
  for (const std::string output : {"hello", "", "a\n\nb", "\n\nlead"}) {
    const Played streamed = play(kPlain, script(output));
    const Played plain = play(plain_request, script(output));
    EXPECT_EQ(plain.chunks.size(), 0U);
    EXPECT_EQ(plain.message()["content"], streamed.content);
    EXPECT_EQ(plain.response["usage"], streamed.response["usage"]);
    EXPECT_EQ(plain.response["choices"][0]["finish_reason"], streamed.finish_reasons[0]);
  }
}

TEST(FieldCase, L01_ImpossibleTokensAreClampedToAFiniteNumber) {
  PreparedCompletion prepared =
      prepare(chat_body(with(kPlain, {{"logprobs", true}, {"top_logprobs", 2}})));
  TokenOutput output;
  output.tokens = {script("a")[0]};
  output.finish = FinishReason::kLength;
  const float infinite = std::numeric_limits<float>::infinity();
  output.logprobs = {
      {.chosen = {output.tokens[0], -infinite}, .top = {{output.tokens[0], -infinite}, {5, NAN}}}};
  prepared.assembler->push(0, output);
  const Json response = Json::parse(prepared.assembler->response());
  const Json& entry = response["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(entry["token"], "a");
  EXPECT_EQ(entry["bytes"], Json::array({97}));
  EXPECT_EQ(entry["logprob"], -9999.0);
  EXPECT_EQ(entry["top_logprobs"].size(), 2U);
  EXPECT_EQ(entry["top_logprobs"][1]["logprob"], -9999.0);
}

TEST(FieldCase, P02_CachedTokensAreAlwaysReported) {
  EXPECT_EQ(play(kPlain, script("x")).response["usage"]["prompt_tokens_details"]["cached_tokens"],
            0);
  PreparedCompletion prepared = prepare(chat_body(kPlain));
  TokenOutput output;
  output.tokens = script("x");
  output.finish = FinishReason::kLength;
  output.usage.cached_tokens = 2;
  prepared.assembler->push(0, output);
  const Json usage = Json::parse(prepared.assembler->response())["usage"];
  EXPECT_EQ(usage["prompt_tokens_details"]["cached_tokens"], 2);
  EXPECT_EQ(usage["prompt_tokens"], prepared.requests[0].prompt.size());
}

TEST(ChatAssembler, SendsTheRoleWithTheFirstContentOnly) {
  const Played played = play(kPlain, script("\n\none two"));
  EXPECT_EQ(played.chunks[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(played.chunks[0]["choices"][0]["delta"]["content"], "one");
  for (size_t i = 1; i < played.chunks.size(); ++i) {
    EXPECT_FALSE(played.chunks[i]["choices"][0]["delta"].contains("role"));
  }
  const Played empty = play(kPlain, {});
  ASSERT_EQ(empty.chunks.size(), 1U);
  EXPECT_EQ(empty.chunks[0]["choices"][0]["delta"]["role"], "assistant");
}

TEST(ChatAssembler, TakesNothingAfterAStopString) {
  PreparedCompletion prepared = prepare(chat_body(with(kPlain, {{"stop", "STOP"}})));
  TokenOutput output;
  output.tokens = script("ab STOP cd");
  prepared.assembler->push(0, output);
  EXPECT_TRUE(prepared.assembler->choice_done(0));
  EXPECT_TRUE(prepared.assembler->push(0, output).empty());
  const Json response = Json::parse(prepared.assembler->response());
  EXPECT_EQ(response["choices"][0]["message"]["content"], "ab ");
  EXPECT_EQ(response["usage"]["completion_tokens"], script("ab STOP").size());
}

TEST(ChatAssembler, HidesTheTokenThatEndedTheGeneration) {
  const TokenId stop = script(" end")[0];
  PreparedCompletion prepared = prepare(chat_body(with(kPlain, {{"stop_token_ids", {stop}}})));
  TokenOutput output;
  output.tokens = {script("a")[0], stop};
  output.finish = FinishReason::kStop;
  prepared.assembler->push(0, output);
  const Json response = Json::parse(prepared.assembler->response());
  EXPECT_EQ(response["choices"][0]["message"]["content"], "a");
  EXPECT_EQ(response["usage"]["completion_tokens"], 2);
}

TEST(ChatAssembler, ReportsEnvelopeMembers) {
  const Played played = play(kPlain, script("x"));
  for (const Json& chunk : played.chunks) {
    EXPECT_EQ(chunk["id"], "chatcmpl-1");
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["created"], 7);
    EXPECT_EQ(chunk["model"], "m");
    EXPECT_EQ(chunk["system_fingerprint"], "fp");
  }
  EXPECT_EQ(played.response["object"], "chat.completion");
}

}  // namespace
}  // namespace deepinfer::protocol::test
