#include "deepinfer/request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace deepinfer {
namespace {

Status check(const std::function<void(GenerateRequest&)>& change) {
  GenerateRequest request;
  request.prompt = {1};
  change(request);
  return validate(request);
}

TEST(ValidateRequest, AcceptsDefaultsAndTheEdgesOfEveryRange) {
  EXPECT_TRUE(check([](auto&) {}).is_ok());
  EXPECT_TRUE(check([](auto& request) {
                request.sampling.temperature = 0.0F;
                request.sampling.top_p = 1e-6F;
                request.sampling.min_p = 1.0F;
                request.sampling.presence_penalty = -2.0F;
                request.sampling.frequency_penalty = 2.0F;
                request.sampling.top_logprobs = 20;
                request.sampling.logit_bias = {{5, -100.0F}, {6, 100.0F}};
                request.max_tokens = 7;
                request.min_tokens = 7;
              }).is_ok());
}

TEST(ValidateRequest, NamesTheFieldThatIsOutOfRange) {
  const auto param = [](const std::function<void(GenerateRequest&)>& change) {
    const Status status = check(change);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.param();
  };
  EXPECT_EQ(param([](auto& r) { r.prompt.clear(); }), "prompt");
  EXPECT_EQ(param([](auto& r) { r.max_tokens = 0; }), "max_tokens");
  EXPECT_EQ(param([](auto& r) { r.max_tokens = -5; }), "max_tokens");
  EXPECT_EQ(param([](auto& r) { r.min_tokens = 2; }), "min_tokens");
  EXPECT_EQ(param([](auto& r) { r.min_tokens = -1; }), "min_tokens");
  EXPECT_EQ(param([](auto& r) { r.sampling.temperature = -0.1F; }), "temperature");
  EXPECT_EQ(param([](auto& r) { r.sampling.temperature = INFINITY; }), "temperature");
  EXPECT_EQ(param([](auto& r) { r.sampling.top_p = 0.0F; }), "top_p");
  EXPECT_EQ(param([](auto& r) { r.sampling.top_p = 1.5F; }), "top_p");
  EXPECT_EQ(param([](auto& r) { r.sampling.top_k = -1; }), "top_k");
  EXPECT_EQ(param([](auto& r) { r.sampling.min_p = 1.1F; }), "min_p");
  EXPECT_EQ(param([](auto& r) { r.sampling.presence_penalty = 2.1F; }), "presence_penalty");
  EXPECT_EQ(param([](auto& r) { r.sampling.frequency_penalty = -2.1F; }), "frequency_penalty");
  EXPECT_EQ(param([](auto& r) { r.sampling.top_logprobs = 21; }), "top_logprobs");
  EXPECT_EQ(param([](auto& r) { r.sampling.logit_bias = {{1, 101.0F}}; }), "logit_bias");
}

TEST(ValidateRequest, RefusesNotANumberEverywhere) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(check([&](auto& r) { r.sampling.temperature = kNaN; }).is_ok());
  EXPECT_FALSE(check([&](auto& r) { r.sampling.top_p = kNaN; }).is_ok());
  EXPECT_FALSE(check([&](auto& r) { r.sampling.min_p = kNaN; }).is_ok());
  EXPECT_FALSE(check([&](auto& r) { r.sampling.presence_penalty = kNaN; }).is_ok());
  EXPECT_FALSE(check([&](auto& r) { r.sampling.frequency_penalty = kNaN; }).is_ok());
  EXPECT_FALSE(check([&](auto& r) { r.sampling.logit_bias = {{1, kNaN}}; }).is_ok());
}

}  // namespace
}  // namespace deepinfer
