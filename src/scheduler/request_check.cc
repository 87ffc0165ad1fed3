#include "scheduler/request_check.h"

#include <spdlog/fmt/fmt.h>

namespace deepinfer::scheduler {
namespace {

bool in_vocabulary(TokenId token, const ModelInfo& model) {
  return token >= 0 && token < model.vocab_size;
}

Status outside(const char* param, TokenId token, const ModelInfo& model) {
  return invalid_argument(fmt::format("{} holds token id {}, which is not in 0..{}", param, token,
                                      model.vocab_size - 1))
      .with_param(param);
}

Status check_tokens(const char* param, const std::vector<TokenId>& tokens, const ModelInfo& model) {
  for (const TokenId token : tokens) {
    if (!in_vocabulary(token, model)) {
      return outside(param, token, model);
    }
  }
  return Status::ok();
}

}  // namespace

Status check_request(const GenerateRequest& request, const ModelInfo& model) {
  DI_TRY(validate(request));
  if (request.prompt.size() >= static_cast<size_t>(model.max_model_len)) {
    return invalid_argument(
               fmt::format("this model's maximum context length is {} tokens, prompt and output "
                           "together, but the prompt has {} tokens",
                           model.max_model_len, request.prompt.size()))
        .with_param("prompt")
        .with_reason("context_length_exceeded");
  }
  DI_TRY(check_tokens("prompt", request.prompt, model));
  DI_TRY(check_tokens("stop_token_ids", request.stop_token_ids, model));
  DI_TRY(check_tokens("probe_logits", request.probe_logits, model));
  if (const auto& limit = request.sampling.thinking_limit) {
    DI_TRY(check_tokens("thinking_limit", {limit->close_token}, model));
  }
  for (const auto& [token, bias] : request.sampling.logit_bias) {
    if (!in_vocabulary(token, model)) {
      return outside("logit_bias", token, model);
    }
  }
  return Status::ok();
}

}  // namespace deepinfer::scheduler
