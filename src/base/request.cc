#include "deepinfer/request.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace deepinfer {
namespace {

Status check_range(const char* name, float value, float low, float high) {
  if (!(value >= low && value <= high)) {  // also refuses NaN
    return invalid_argument(fmt::format("{} must be in [{}, {}], got {}", name, low, high, value))
        .with_param(name);
  }
  return Status::ok();
}

Status validate(const SamplingParams& sampling) {
  DI_TRY(check_range("temperature", sampling.temperature, 0.0F, 100.0F));
  DI_TRY(check_range("min_p", sampling.min_p, 0.0F, 1.0F));
  DI_TRY(check_range("presence_penalty", sampling.presence_penalty, -2.0F, 2.0F));
  DI_TRY(check_range("frequency_penalty", sampling.frequency_penalty, -2.0F, 2.0F));
  if (!(sampling.top_p > 0.0F && sampling.top_p <= 1.0F)) {
    return invalid_argument(fmt::format("top_p must be in (0, 1], got {}", sampling.top_p))
        .with_param("top_p");
  }
  if (sampling.top_k < 0) {
    return invalid_argument(fmt::format("top_k must not be negative, got {}", sampling.top_k))
        .with_param("top_k");
  }
  if (sampling.top_logprobs < 0 || sampling.top_logprobs > 20) {
    return invalid_argument(
               fmt::format("top_logprobs must be in [0, 20], got {}", sampling.top_logprobs))
        .with_param("top_logprobs");
  }
  for (const auto& [token, bias] : sampling.logit_bias) {
    if (!(bias >= -100.0F && bias <= 100.0F)) {
      return invalid_argument(
                 fmt::format("logit_bias[{}] must be in [-100, 100], got {}", token, bias))
          .with_param("logit_bias");
    }
  }
  if (sampling.thinking_limit && sampling.thinking_limit->max_tokens < 0) {
    return invalid_argument(fmt::format("the thinking limit must not be negative, got {}",
                                        sampling.thinking_limit->max_tokens))
        .with_param("thinking_limit");
  }
  return Status::ok();
}

}  // namespace

Status validate(const GenerateRequest& request) {
  if (request.prompt.empty()) {
    return invalid_argument("the prompt must hold at least one token").with_param("prompt");
  }
  if (request.max_tokens < 1) {
    return invalid_argument(
               fmt::format("max_tokens must be at least 1, got {}", request.max_tokens))
        .with_param("max_tokens");
  }
  if (request.min_tokens < 0 || request.min_tokens > request.max_tokens) {
    return invalid_argument(fmt::format("min_tokens must be in [0, max_tokens = {}], got {}",
                                        request.max_tokens, request.min_tokens))
        .with_param("min_tokens");
  }
  if (request.constraint && request.ignore_eos) {
    return invalid_argument("ignore_eos cannot be combined with a constraint of the output")
        .with_param("ignore_eos");
  }
  return validate(request.sampling);
}

}  // namespace deepinfer
