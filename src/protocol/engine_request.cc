#include "protocol/engine_request.h"

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

namespace deepinfer::protocol {
namespace {

constexpr size_t kMaxStopTokens = 64;
constexpr size_t kMaxLogitBias = 1024;

Status refuse(const std::string& param, const std::string& problem) {
  return invalid_argument("`" + param + "` " + problem).with_param(param);
}

std::string vocabulary_range(const ModelInfo& model) {
  return "must be a token id in [0, " + std::to_string(model.vocab_size) + ")";
}

Status set_stop_tokens(const ChatRequest& request, const ModelInfo& model,
                       GenerateRequest& target) {
  if (request.stop_token_ids.size() > kMaxStopTokens) {
    return refuse("stop_token_ids", "must have at most " + std::to_string(kMaxStopTokens) +
                                        " entries, got " +
                                        std::to_string(request.stop_token_ids.size()));
  }
  for (size_t i = 0; i < request.stop_token_ids.size(); ++i) {
    const int32_t id = request.stop_token_ids[i];
    if (id < 0 || id >= model.vocab_size) {
      return refuse("stop_token_ids[" + std::to_string(i) + "]",
                    vocabulary_range(model) + ", got " + std::to_string(id));
    }
  }
  target.stop_token_ids = request.stop_token_ids;
  return Status::ok();
}

Status add_logit_bias(const std::string& key, const Json& value, const ModelInfo& model,
                      GenerateRequest& target) {
  const std::string param = "logit_bias." + key;
  TokenId id = -1;
  const char* end = key.data() + key.size();
  const auto parsed = std::from_chars(key.data(), end, id);
  if (parsed.ec != std::errc() || parsed.ptr != end || id < 0 || id >= model.vocab_size) {
    return refuse(param, ": the key " + vocabulary_range(model));
  }
  const double bias = value.is_number() ? value.get<double>() : NAN;
  if (!(bias >= -100.0 && bias <= 100.0)) {
    return refuse(param, "must be a number in [-100, 100]");
  }
  target.sampling.logit_bias.emplace_back(id, static_cast<float>(bias));
  return Status::ok();
}

Status set_logit_bias(const ChatRequest& request, const ModelInfo& model, GenerateRequest& target) {
  if (request.logit_bias.is_null()) {
    return Status::ok();
  }
  if (!request.logit_bias.is_object() || request.logit_bias.size() > kMaxLogitBias) {
    return refuse("logit_bias", "must be an object of at most " + std::to_string(kMaxLogitBias) +
                                    " token ids and numbers");
  }
  for (const auto& [key, value] : request.logit_bias.get_ref<const Json::object_t&>()) {
    DI_TRY(add_logit_bias(key, value, model, target));
  }
  return Status::ok();
}

Status set_min_p(std::optional<float> given, GenerateRequest& target) {
  const float min_p = given.value_or(0.0F);
  if (!(min_p >= 0.0F && min_p <= 1.0F)) {
    return refuse("min_p", "must be in [0, 1]");
  }
  target.sampling.min_p = min_p;
  return Status::ok();
}

}  // namespace

Status set_top_k(std::optional<int32_t> given, GenerateRequest& target) {
  const int32_t top_k = given.value_or(0);
  if (top_k < -1) {
    return refuse("top_k", "must be at least -1, got " + std::to_string(top_k));
  }
  target.sampling.top_k = top_k == -1 ? 0 : top_k;
  return Status::ok();
}

GenerateRequest make_engine_request(const ConvertedRequest& converted) {
  GenerateRequest target;
  SamplingParams& sampling = target.sampling;
  sampling.temperature = converted.options.temperature;
  sampling.top_p = converted.options.top_p;
  sampling.seed = converted.options.seed;
  sampling.logprobs = converted.options.logprobs;
  sampling.top_logprobs = converted.options.top_logprobs.value_or(0);
  return target;
}

Result<GenerateRequest> make_engine_request(const ChatRequest& request,
                                            const ConvertedRequest& converted,
                                            const ModelInfo& model) {
  GenerateRequest target = make_engine_request(converted);
  target.sampling.presence_penalty = request.presence_penalty.value_or(0.0F);
  target.sampling.frequency_penalty = request.frequency_penalty.value_or(0.0F);
  target.ignore_eos = request.ignore_eos;
  target.priority = request.priority.value_or(0);
  DI_TRY(set_top_k(request.top_k, target));
  DI_TRY(set_min_p(request.min_p, target));
  DI_TRY(set_stop_tokens(request, model, target));
  DI_TRY(set_logit_bias(request, model, target));
  return target;
}

}  // namespace deepinfer::protocol
