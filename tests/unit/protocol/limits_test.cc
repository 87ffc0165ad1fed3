// Odd and hostile bodies: small stacks, deep nesting, mutations.

#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <random>

#include "support.h"

namespace deepinfer::protocol::test {
namespace {

/// Runs `work` on a thread with a stack of `bytes`.
void on_small_stack(size_t bytes, std::function<void()> work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<std::function<void()>*>(argument))();
                  return nullptr;
                },
                &work),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kStack = 2 << 20;  // instrumented frames are several times larger
#else
constexpr size_t kStack = 256 << 10;
#endif

std::string deep(size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) {
    text += open;
  }
  text += "1";
  for (size_t i = 0; i < depth; ++i) {
    text += close;
  }
  return text;
}

std::string body_with(const std::string& member, const std::string& value) {
  return R"({"model":"m","messages":[{"role":"user","content":"x"}],")" + member + "\":" + value +
         "}";
}

TEST(FieldCase, V07_DeepBodiesAreRefusedOnASmallStack) {
  v41_recipe();
  on_small_stack(kStack, [] {
    for (const size_t depth : {100, 3000, 100000}) {
      for (const std::string& body :
           {body_with("tools", deep(depth, "[", "]")),
            body_with("metadata", deep(depth, "{\"a\":", "}")),
            body_with("response_format", deep(depth, "{\"json_schema\":", "}")),
            std::string(depth, '['), std::string(depth, '{')}) {
        const Status status = refusal(body);
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
      }
    }
  });
}

TEST(FieldCase, V07_SchemasWithinTheDepthLimitAreCheckedOnASmallStack) {
  v41_recipe();
  on_small_stack(kStack, [] {
    const std::string schema =
        R"({"type":"object","properties":{"a":)" + deep(27, R"({"not":{"items":)", "}}") + "}}";
    std::string valid = schema;
    valid.replace(valid.find('1'), 1, "true");
    prepare(body_with(
        "tools", R"([{"type":"function","function":{"name":"f","parameters":)" + valid + "}}]"));
    const Status status = refusal(body_with(
        "tools", R"([{"type":"function","function":{"name":"f","parameters":)" + schema + "}}]"));
    EXPECT_EQ(status.param(), "tools[0].function.parameters");
  });
}

TEST(Limits, MutatedBodiesNeverDoWorseThanARefusal) {
  const std::string seed =
      R"({"model":"m","stream":true,"messages":[{"role":"system","content":"s"},)"
      R"({"role":"user","content":[{"type":"text","text":"é\n"}]},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"a","type":)"
      R"("function","function":{"name":"f","arguments":"{\"x\":1}"}}]},)"
      R"({"role":"tool","tool_call_id":"a","content":"r"}],"temperature":0.5,)"
      R"("logit_bias":{"5":1.5},"stop":["x","y"],"max_tokens":10,"tools":[)"
      R"({"type":"function","function":{"name":"f","parameters":{"type":)"
      R"("object","properties":{"a":{"type":"string","pattern":"^a+$"}}}}}]})";
  prepare(seed);
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string body = seed;
    for (size_t i = 0; i < 1 + random() % 3; ++i) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0:
          body[at] = static_cast<char>(random());
          break;
        case 1:
          body.erase(at, 1 + random() % 8);
          break;
        case 2:
          body.insert(at, body.substr(random() % body.size(), random() % 30));
          break;
        default:
          body.insert(at, std::string(1, "{}[]\",:0-"[random() % 9]));
      }
      if (body.empty()) {
        body = "{";
      }
    }
    const auto result = prepare_chat_completion(body, service(), v41_recipe(), "id", 0);
    refused += result ? 0 : 1;
    if (!result) {
      EXPECT_TRUE(result.error().code() == StatusCode::kInvalidArgument ||
                  result.error().code() == StatusCode::kNotFound)
          << result.error().message();
      EXPECT_FALSE(result.error().message().empty());
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Limits, MutatedTokenStreamsNeverBreakTheParser) {
  std::mt19937 random(5);
  const Json request = {
      {"stream", true},
      {"stop", {"ab"}},
      {"logprobs", true},
      {"tools", Json::array({{{"type", "function"}, {"function", Json{{"name", "f"}}}}})}};
  for (int round = 0; round < 200; ++round) {
    std::vector<TokenId> tokens = script(
        "a</think>b<｜DSML｜ calls><｜DSML｜ invoke name=\"f\"><｜DSML｜ parameter name=\"k\" "
        "string=\"false\">1</｜DSML｜ parameter></｜DSML｜ invoke></｜DSML｜ calls>");
    for (int i = 0; i < 6; ++i) {
      tokens[random() % tokens.size()] = static_cast<TokenId>(random() % 131000) - 500;
      tokens.erase(tokens.begin() + static_cast<long>(random() % tokens.size()));
    }
    const Played played = play(request, tokens, 1 + random() % 3);
    EXPECT_EQ(played.finish_reasons.size(), 1U);
    EXPECT_EQ(played.message()["content"], played.content);
  }
}

}  // namespace
}  // namespace deepinfer::protocol::test
