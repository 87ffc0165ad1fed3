// Raw completions: prompts in every form, the legacy shape of log probabilities, echo, stop
// sequences and streams.

#include <gtest/gtest.h>

#include "support.h"

namespace deepinfer::protocol::test {
namespace {

std::string completions_body(const Json& extra) {
  Json body = {{"model", "m"}, {"prompt", "Once upon"}};
  for (const auto& [name, value] : extra.items()) {
    body[name] = value;
  }
  return body.dump();
}

PreparedCompletion prepare_one(const Json& extra) {
  auto prepared =
      prepare_completions(completions_body(extra), service(), v41_recipe(), "cmpl-1", 7);
  EXPECT_TRUE(prepared.has_value()) << prepared.error().message();
  return prepared ? std::move(*prepared) : PreparedCompletion{};
}

Status refusal_of(const Json& extra) {
  auto prepared =
      prepare_completions(completions_body(extra), service(), v41_recipe(), "cmpl-1", 7);
  EXPECT_FALSE(prepared.has_value()) << extra;
  return prepared.status();
}

struct Answer {
  std::vector<Json> chunks;
  bool done = false;
  Json response;

  std::string streamed(int index) const {
    std::string text;
    for (const Json& chunk : chunks) {
      for (const Json& choice : chunk["choices"]) {
        text += choice["index"] == index ? choice["text"].get<std::string>() : std::string();
      }
    }
    return text;
  }
};

/// Every choice gets the same tokens, one by one, then the end.
Answer run(const Json& extra, const std::string& text, FinishReason finish = FinishReason::kStop) {
  PreparedCompletion prepared = prepare_one(extra);
  ResponseAssembler& assembler = *prepared.assembler;
  Answer result;
  const auto take = [&](const std::vector<Event>& events) {
    for (const Event& event : events) {
      EXPECT_EQ(event.name, "");
      if (event.data == "[DONE]") {
        result.done = true;
      } else {
        result.chunks.push_back(Json::parse(event.data));
      }
    }
  };
  for (size_t i = 0; i < prepared.requests.size(); ++i) {
    const auto choice = static_cast<int32_t>(i);
    for (const TokenId token : script(text)) {
      TokenOutput output;
      output.tokens = {token};
      if (prepared.requests[i].sampling.logprobs) {
        output.logprobs = {{.chosen = {token, -0.5F}, .top = {{5, -0.25F}, {token, -0.5F}}}};
      }
      if (!assembler.choice_done(choice)) {
        take(assembler.push(choice, output));
      }
    }
    TokenOutput last;
    last.finish = finish;
    if (finish == FinishReason::kStop) {
      last.tokens = {v41_recipe().control().eos};
    }
    take(assembler.push(choice, last));
    EXPECT_TRUE(assembler.choice_done(choice));
  }
  take(assembler.finish());
  result.response = Json::parse(assembler.response());
  return result;
}

TEST(Completions, PromptsComeInFourForms) {
  const std::vector<TokenId> ids = script("Once upon");
  EXPECT_EQ(prepare_one(Json::object()).requests.at(0).prompt, ids);
  EXPECT_EQ(prepare_one({{"prompt", ids}}).requests.at(0).prompt, ids);
  const auto texts = prepare_one({{"prompt", Json::array({"Once upon", "a"})}}).requests;
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts[0].prompt, ids);
  EXPECT_EQ(texts[1].prompt, script("a"));
  const auto lists = prepare_one({{"prompt", Json::array({ids, script("a")})}}).requests;
  ASSERT_EQ(lists.size(), 2U);
  EXPECT_EQ(lists[0].prompt, ids);
}

TEST(Completions, DefaultsAreThoseOfTheContract) {
  const GenerateRequest request = prepare_one(Json::object()).requests.at(0);
  EXPECT_EQ(request.max_tokens, 16);
  EXPECT_EQ(request.sampling.temperature, 1.0F);
  EXPECT_FALSE(request.sampling.logprobs);
}

TEST(Completions, SamplingMembersReachTheEngine) {
  const GenerateRequest request = prepare_one({{"max_tokens", 9},
                                               {"temperature", 0},
                                               {"top_k", 4},
                                               {"min_tokens", 3},
                                               {"ignore_eos", true},
                                               {"stop_token_ids", Json::array({7})},
                                               {"frequency_penalty", 0.5},
                                               {"logprobs", 2}})
                                      .requests.at(0);
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.top_k, 4);
  EXPECT_EQ(request.min_tokens, 3);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.stop_token_ids, (std::vector<TokenId>{7}));
  EXPECT_EQ(request.sampling.frequency_penalty, 0.5F);
  EXPECT_TRUE(request.sampling.logprobs);
  EXPECT_EQ(request.sampling.top_logprobs, 2);
}

TEST(Completions, ChoicesOfAPromptFollowEachOther) {
  const auto requests =
      prepare_one({{"prompt", Json::array({"a", "b"})}, {"n", 2}, {"seed", 5}}).requests;
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[1].prompt, script("a"));
  EXPECT_EQ(requests[2].prompt, script("b"));
  EXPECT_EQ(requests[1].sampling.seed, 6U);
  EXPECT_EQ(requests[2].sampling.seed, 5U);
  const Json response = run({{"prompt", Json::array({"a", "b"})}, {"n", 2}}, " hello").response;
  ASSERT_EQ(response["choices"].size(), 4U);
  EXPECT_EQ(response["choices"][3]["index"], 3);
  EXPECT_EQ(response["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(response["usage"]["completion_tokens"], 8);
}

TEST(Completions, TextIsRaw) {
  // No template, no reasoning, no line feed dropped.
  const Json response = run(Json::object(), "\n\n<think>a</think>\nb").response;
  EXPECT_EQ(response["object"], "text_completion");
  EXPECT_EQ(response["id"], "cmpl-1");
  EXPECT_EQ(response["choices"][0]["text"], "\n\n<think>a</think>\nb");
  EXPECT_EQ(response["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(response["choices"][0]["logprobs"].is_null());
}

TEST(Completions, EchoPutsThePromptInFront) {
  EXPECT_EQ(run({{"echo", true}}, " a time").response["choices"][0]["text"], "Once upon a time");
  const Json ids = {{"echo", true}, {"prompt", script("Once upon")}};
  EXPECT_EQ(run(ids, " a time").response["choices"][0]["text"], "Once upon a time");
  const Answer streamed = run({{"echo", true}, {"stream", true}}, " a time");
  EXPECT_EQ(streamed.streamed(0), "Once upon a time");
}

TEST(Completions, EveryChunkCarriesTheUsageSoFarWhereAsked) {
  Json body = {{"stream", true}};
  body["stream_options"] = {{"include_usage", true}, {"continuous_usage_stats", true}};
  const Answer streamed = run(body, " a long time ago");
  uint64_t last = 0;
  for (const Json& chunk : streamed.chunks) {
    const auto now = chunk["usage"]["completion_tokens"].get<uint64_t>();
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_LT(streamed.chunks.front()["usage"]["completion_tokens"], last);
}

TEST(Completions, StreamsEqualThePlainAnswer) {
  const Json extra = {{"stop", Json::array({"STOP"})}, {"logprobs", 1}};
  Json streaming = extra;
  streaming["stream"] = true;
  streaming["stream_options"] = {{"include_usage", true}};
  const std::string text = " é中 and STOP never";
  const Json plain = run(extra, text).response;
  const Answer streamed = run(streaming, text);
  EXPECT_EQ(plain["choices"][0]["text"], " é中 and ");
  EXPECT_EQ(streamed.streamed(0), " é中 and ");
  EXPECT_TRUE(streamed.done);
  EXPECT_EQ(streamed.chunks.back()["choices"], Json::array());
  EXPECT_EQ(streamed.chunks.back()["usage"], plain["usage"]);
  Json tokens = Json::array();
  std::vector<std::string> finishes;
  for (const Json& chunk : streamed.chunks) {
    for (const Json& choice : chunk["choices"]) {
      for (const Json& token : choice["logprobs"]["tokens"]) {
        tokens.push_back(token);
      }
      if (!choice["finish_reason"].is_null()) {
        finishes.push_back(choice["finish_reason"]);
      }
    }
  }
  EXPECT_EQ(tokens, plain["choices"][0]["logprobs"]["tokens"]);
  EXPECT_EQ(finishes, (std::vector<std::string>{"stop"}));
}

TEST(Completions, LogprobsHaveTheLegacyShape) {
  const Json logprobs = run({{"logprobs", 1}}, " a time").response["choices"][0]["logprobs"];
  const size_t count = script(" a time").size();
  for (const char* list : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    EXPECT_EQ(logprobs[list].size(), count) << list;
  }
  EXPECT_EQ(logprobs["tokens"][0], " a");
  EXPECT_EQ(logprobs["text_offset"][0], 0);
  EXPECT_EQ(logprobs["text_offset"][1], 2);
  EXPECT_EQ(logprobs["token_logprobs"][0], -0.5);
  EXPECT_EQ(logprobs["top_logprobs"][0][" a"], -0.5);
  EXPECT_EQ(logprobs["top_logprobs"][0].size(), 2U);
}

TEST(Completions, OffsetsCountCharacters) {
  const Json logprobs = run({{"logprobs", 0}}, "é中x").response["choices"][0]["logprobs"];
  uint64_t characters = 0;
  for (size_t i = 0; i < logprobs["tokens"].size(); ++i) {
    EXPECT_EQ(logprobs["text_offset"][i], characters);
    const std::string text = logprobs["tokens"][i];
    for (const char c : text) {
      characters += (static_cast<uint8_t>(c) & 0xC0U) != 0x80U ? 1 : 0;
    }
  }
  EXPECT_EQ(characters, 3U);
}

TEST(Completions, TokenIdsOnRequest) {
  const Json choice = run({{"return_token_ids", true}}, " a time").response["choices"][0];
  EXPECT_EQ(choice["token_ids"].get<std::vector<TokenId>>(), script(" a time"));
  EXPECT_EQ(choice["prompt_token_ids"].get<std::vector<TokenId>>(), script("Once upon"));
  EXPECT_FALSE(run(Json::object(), " a").response["choices"][0].contains("token_ids"));
}

TEST(Completions, ALimitEndsWithLength) {
  EXPECT_EQ(
      run(Json::object(), " a", FinishReason::kLength).response["choices"][0]["finish_reason"],
      "length");
}

TEST(Completions, SpecialTokensOnRequest) {
  const auto prompt = prepare_one({{"add_special_tokens", true}}).requests.at(0).prompt;
  EXPECT_EQ(prompt.front(), v41_recipe().control().bos);
  EXPECT_EQ(prompt.size(), script("Once upon").size() + 1);
}

TEST(Completions, RefusalsNameTheMember) {
  const struct {
    Json extra;
    std::string param;
  } cases[] = {
      {{{"suffix", "x"}}, "suffix"},
      {{{"best_of", 3}}, "best_of"},
      {{{"logprobs", 6}}, "logprobs"},
      {{{"logprobs", true}}, "logprobs"},
      {{{"echo", true}, {"logprobs", 1}}, "logprobs"},
      {{{"max_tokens", 0}}, "max_tokens"},
      {{{"max_tokens", 0}, {"echo", true}, {"logprobs", 1}}, "logprobs"},
      {{{"max_tokens", -1}}, "max_tokens"},
      {{{"max_tokens", 100001}}, "prompt"},
      {{{"n", 0}}, "n"},
      {{{"n", 17}}, "n"},
      {{{"prompt", ""}}, "prompt"},
      {{{"prompt", Json::array()}}, "prompt"},
      {{{"prompt", Json::array({"a", ""})}}, "prompt[1]"},
      {{{"prompt", Json::array({1, 999999})}}, "prompt"},
      {{{"prompt", Json::array({1, "a"})}}, "prompt[1]"},
      {{{"prompt", 5}}, "prompt"},
      {{{"stop", Json::array({""})}}, "stop[0]"},
      {{{"temperature", 3}}, "temperature"},
      {{{"presence_penalty", 9}}, "presence_penalty"},
      {{{"min_tokens", 20}}, "min_tokens"},
      {{{"stream_options", {{"include_usage", true}}}}, "stream_options"},
      {{{"model", "other"}}, "model"},
      {{{"prompt_logprobs", 1}}, "prompt_logprobs"},
  };
  for (const auto& [extra, param] : cases) {
    const Status status = refusal_of(extra);
    EXPECT_EQ(status.param(), param) << status.message();
    EXPECT_NE(status.code(), StatusCode::kInternal);
  }
}

TEST(Completions, ManyPromptsAreBounded) {
  Json prompts = Json::array();
  for (int i = 0; i < 129; ++i) {
    prompts.push_back("a");
  }
  EXPECT_EQ(refusal_of({{"prompt", prompts}}).param(), "prompt");
  prompts.erase(0);
  EXPECT_EQ(prepare_one({{"prompt", prompts}}).requests.size(), 128U);
}

}  // namespace
}  // namespace deepinfer::protocol::test
