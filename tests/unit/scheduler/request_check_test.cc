#include "scheduler/request_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace deepinfer::scheduler {
namespace {

const ModelInfo kModel = {
    .vocab_size = 100, .max_model_len = 16, .eos_token_ids = {0}, .system_fingerprint = "test"};

Status check(const std::function<void(GenerateRequest&)>& change) {
  GenerateRequest request;
  request.prompt = {1, 2, 3};
  request.max_tokens = 4;
  change(request);
  return check_request(request, kModel);
}

void expect_refused(const std::function<void(GenerateRequest&)>& change, const std::string& param,
                    const std::string& mentions) {
  const Status status = check(change);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << param;
  EXPECT_EQ(status.param(), param);
  EXPECT_NE(status.message().find(mentions), std::string::npos) << status.message();
}

TEST(RequestCheck, AcceptsEveryTokenOfTheVocabulary) {
  EXPECT_TRUE(check([](auto& request) {
                request.prompt = {0, 99};
                request.stop_token_ids = {0, 99};
                request.probe_logits = {0, 99};
                request.sampling.logit_bias = {{0, 5.0F}, {99, -5.0F}};
              }).is_ok());
}

TEST(RequestCheck, RefusesTokensOutsideTheVocabulary) {
  for (const TokenId bad : {-1, 100, std::numeric_limits<TokenId>::max()}) {
    const std::string name = std::to_string(bad);
    expect_refused([&](auto& request) { request.prompt.push_back(bad); }, "prompt", name);
    expect_refused([&](auto& request) { request.stop_token_ids = {bad}; }, "stop_token_ids", name);
    expect_refused([&](auto& request) { request.probe_logits = {bad}; }, "probe_logits", name);
    expect_refused(
        [&](auto& request) {
          request.sampling.logit_bias = {{bad, 1.0F}};
        },
        "logit_bias", name);
    expect_refused(
        [&](auto& request) {
          request.sampling.thinking_limit = {5, bad};
        },
        "thinking_limit", name);
  }
}

TEST(RequestCheck, RefusesAPromptThatLeavesNoRoomForAToken) {
  EXPECT_TRUE(check([](auto& request) { request.prompt.assign(15, 1); }).is_ok());
  for (const size_t length : {16U, 17U, 1000U}) {
    const Status status = check([&](auto& request) { request.prompt.assign(length, 1); });
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.reason(), "context_length_exceeded");
    EXPECT_NE(status.message().find("16"), std::string::npos);
    EXPECT_NE(status.message().find(std::to_string(length)), std::string::npos);
  }
}

TEST(RequestCheck, RefusesWhatNeedsNoModelToBeWrong) {
  expect_refused([](auto& request) { request.prompt.clear(); }, "prompt", "at least one");
  expect_refused([](auto& request) { request.max_tokens = 0; }, "max_tokens", "0");
  expect_refused([](auto& request) { request.sampling.top_p = 0.0F; }, "top_p", "0");
  expect_refused(
      [](auto& request) {
        request.sampling.logit_bias = {{1, 1e9F}};
      },
      "logit_bias", "1");
  expect_refused(
      [](auto& request) {
        request.sampling.thinking_limit = {-1, 5};
      },
      "thinking_limit", "-1");
}

}  // namespace
}  // namespace deepinfer::scheduler
