#include "process/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace deepinfer::process {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

GenerateRequest full_request() {
  GenerateRequest request;
  request.id = "chatcmpl-1";
  request.prompt = {0, 1, 129279};
  request.sampling = {.temperature = 0.25F,
                      .top_p = 0.5F,
                      .top_k = 7,
                      .min_p = 0.125F,
                      .presence_penalty = -2.0F,
                      .frequency_penalty = 1.5F,
                      .logit_bias = {{5, -100.0F}, {6, 1.0F}},
                      .seed = std::numeric_limits<uint64_t>::max(),
                      .logprobs = true,
                      .top_logprobs = 3,
                      .thinking_limit = ThinkingLimit{.max_tokens = 9, .close_token = 4}};
  request.max_tokens = 77;
  request.min_tokens = 3;
  request.stop_token_ids = {8, 9};
  request.ignore_eos = true;
  request.constraint = ConstraintSpec{.kind = ConstraintSpec::Kind::kToolCalls,
                                      .text = "text",
                                      .choices = {"a", "b"},
                                      .tools = {{"f", "{}", true}},
                                      .markup = {.marker = 3, .block = "tool_calls", .space = ":"},
                                      .call_required = false,
                                      .single_call = true,
                                      .begins_in_block = true,
                                      .starts_after = 12,
                                      .param = "tools"};
  request.priority = -5;
  request.deadline = std::chrono::steady_clock::time_point(123'456'789ns);
  request.probe_logits = {1};
  return request;
}

// What a message says, for comparison: the descriptions cover every member.
std::string again(const ToEngine& message) {
  auto decoded = decode_to_engine(encode(message));
  EXPECT_TRUE(decoded.has_value()) << decoded.status().message();
  return encode(*decoded);
}

TEST(Message, KeepsARequest) {
  const SubmitMessage message{.number = 1ULL << 63, .request = full_request()};
  const auto decoded = decode_to_engine(encode(ToEngine(message)));
  ASSERT_TRUE(decoded.has_value()) << decoded.status().message();
  const auto& submitted = std::get<SubmitMessage>(*decoded);
  const GenerateRequest& got = submitted.request;
  const GenerateRequest want = full_request();
  EXPECT_EQ(submitted.number, 1ULL << 63);
  EXPECT_EQ(got.id, want.id);
  EXPECT_EQ(got.prompt, want.prompt);
  EXPECT_EQ(got.sampling.temperature, want.sampling.temperature);
  EXPECT_EQ(got.sampling.top_p, want.sampling.top_p);
  EXPECT_EQ(got.sampling.top_k, want.sampling.top_k);
  EXPECT_EQ(got.sampling.min_p, want.sampling.min_p);
  EXPECT_EQ(got.sampling.presence_penalty, want.sampling.presence_penalty);
  EXPECT_EQ(got.sampling.frequency_penalty, want.sampling.frequency_penalty);
  EXPECT_EQ(got.sampling.logit_bias, want.sampling.logit_bias);
  EXPECT_EQ(got.sampling.seed, want.sampling.seed);
  EXPECT_TRUE(got.sampling.logprobs);
  EXPECT_EQ(got.sampling.top_logprobs, 3);
  EXPECT_EQ(got.sampling.thinking_limit->max_tokens, 9);
  EXPECT_EQ(got.sampling.thinking_limit->close_token, 4);
  EXPECT_EQ(got.max_tokens, 77);
  EXPECT_EQ(got.min_tokens, 3);
  EXPECT_EQ(got.stop_token_ids, want.stop_token_ids);
  EXPECT_TRUE(got.ignore_eos);
  EXPECT_EQ(got.constraint, want.constraint);
  EXPECT_EQ(got.priority, -5);
  EXPECT_EQ(got.deadline, want.deadline);
  EXPECT_EQ(got.probe_logits, want.probe_logits);
}

TEST(Message, KeepsWhatIsAbsentAbsent) {
  const auto decoded = decode_to_engine(encode(ToEngine(SubmitMessage{})));
  const GenerateRequest& request = std::get<SubmitMessage>(*decoded).request;
  EXPECT_FALSE(request.constraint || request.deadline || request.sampling.seed ||
               request.sampling.thinking_limit);
}

TEST(Message, KeepsAConfiguration) {
  StartMessage message;
  message.engine.model_dir = "models/demo";
  message.engine.kernel_variant = "avx2";
  message.engine.hang_timeout = 7s;
  message.engine.kv_cache_memory_bytes = 1LL << 40;
  message.engine.parallel = {.data = 2, .context = 4, .expert = 8};
  message.engine.scheduler.max_num_queued_tokens = 5;
  message.log_level = "debug";
  EXPECT_EQ(again(message), encode(ToEngine(message)));
  const auto decoded = decode_to_engine(encode(ToEngine(message)));
  const auto& start = std::get<StartMessage>(*decoded);
  EXPECT_EQ(start.engine.hang_timeout, 7s);
  EXPECT_EQ(start.engine.parallel.expert, 8);
  EXPECT_EQ(start.engine.scheduler.max_num_queued_tokens, 5);
}

TEST(Message, KeepsOutputs) {
  OutputsMessage message;
  TokenOutput output;
  output.tokens = {5, 6};
  output.logprobs = {{.chosen = {5, -0.1F}, .top = {{5, -0.1F}, {7, -INFINITY}}},
                     {.chosen = {6, 0.0F}, .top = {}}};
  output.probe_logits = {1e-30F};
  output.finish = FinishReason::kError;
  output.error = Status(internal_error("m").with_param("p").with_reason("r"));
  output.usage = {.prompt_tokens = 1, .cached_tokens = 2, .completion_tokens = 3};
  output.timings = {.queued_s = 0.5, .first_token_s = 1.5, .finished_s = -1.0};
  message.outputs.emplace_back(9, output);
  message.outputs.emplace_back(10, TokenOutput{});
  const auto decoded = decode_from_engine(encode(FromEngine(message)));
  ASSERT_TRUE(decoded.has_value()) << decoded.status().message();
  const auto& outputs = std::get<OutputsMessage>(*decoded).outputs;
  ASSERT_EQ(outputs.size(), 2U);
  const TokenOutput& got = outputs[0].second;
  EXPECT_EQ(outputs[0].first, 9U);
  EXPECT_EQ(got.tokens, output.tokens);
  EXPECT_EQ(got.logprobs[0].top[1].logprob, -INFINITY);
  EXPECT_EQ(got.logprobs[1].chosen.token, 6);
  EXPECT_EQ(got.probe_logits, output.probe_logits);
  EXPECT_EQ(got.finish, FinishReason::kError);
  EXPECT_EQ(got.error.code(), StatusCode::kInternal);
  EXPECT_EQ(got.error.message(), "m");
  EXPECT_EQ(got.error.param(), "p");
  EXPECT_EQ(got.error.reason(), "r");
  EXPECT_EQ(got.usage.completion_tokens, 3);
  EXPECT_EQ(got.timings.first_token_s, 1.5);
  EXPECT_FALSE(outputs[1].second.finish.has_value());
}

TEST(Message, SaysWhatIsWrong) {
  const auto why = [](std::string bytes) { return decode_from_engine(bytes).status().message(); };
  EXPECT_THAT(why(""), HasSubstr("is no CBOR"));
  EXPECT_THAT(why("\x82\x18\x63\x80"), HasSubstr("99 is no kind of message"));
  EXPECT_THAT(why("\x81\x01"), HasSubstr("is not a kind with its members"));
  EXPECT_THAT(why("\x82\x02\x80"), HasSubstr("number is missing"));
  EXPECT_THAT(why("\x82\x02\x83\x01\x84\x01\x60\x60\x60\x01"), HasSubstr("is followed by more"));
  EXPECT_THAT(why("\x82\x02\x82\x01\x84\x18\x63\x60\x60\x60"), HasSubstr("no known value"));
  EXPECT_THAT(why("\x82\x02\x82\x20\x84\x01\x60\x60\x60"), HasSubstr("number is out of range"));
}

TEST(Message, RefusesNestingBeforeItIsRead) {
  std::string bytes(1'000'000, '\x81');
  EXPECT_FALSE(decode_from_engine(bytes).has_value());
  EXPECT_FALSE(decode_to_engine(bytes).has_value());
}

TEST(Message, NoByteBreaksTheReader) {
  OutputsMessage outputs;
  outputs.outputs.emplace_back(1, TokenOutput{.tokens = {1, 2}, .finish = FinishReason::kStop});
  const std::string good = encode(ToEngine(SubmitMessage{.number = 1, .request = full_request()}));
  const std::string answer = encode(FromEngine(outputs));
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = i % 2 == 0 ? good : answer;
    for (int k = 0; k < 3; ++k) {
      bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFF);
    }
    bytes.resize(bytes.size() - random() % 3);
    read += decode_to_engine(bytes).has_value() ? 1 : 0;
    read += decode_from_engine(bytes).has_value() ? 1 : 0;
  }
  EXPECT_GT(read, 0);
  EXPECT_LT(read, 20'000);
}

}  // namespace
}  // namespace deepinfer::process
