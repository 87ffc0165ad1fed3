#include "protocol/responses/responses_assembler.h"

#include <algorithm>
#include <span>
#include <utility>

namespace deepinfer::protocol {

ResponsesAssembler::ResponsesAssembler(const Settings& settings, ResponseWriter writer,
                                       const recipe::Recipe& recipe)
    : end_tokens_(settings.end_tokens),
      prompt_tokens_(settings.prompt_tokens),
      stream_(settings.stream, std::move(writer), &recipe.tokenizer()) {}

std::vector<Event> ResponsesAssembler::push(int32_t, const TokenOutput& output) {
  std::vector<Event> events;
  if (stream_.done()) {
    return events;
  }
  cached_tokens_ = std::max(cached_tokens_, static_cast<uint64_t>(output.usage.cached_tokens));
  std::span<const TokenId> tokens(output.tokens);
  std::span<const PositionLogprobs> logprobs(output.logprobs);
  const bool end_token =
      output.finish == FinishReason::kStop && !tokens.empty() &&
      std::find(end_tokens_.begin(), end_tokens_.end(), tokens.back()) != end_tokens_.end();
  if (end_token) {
    tokens = tokens.first(tokens.size() - 1);
    logprobs = logprobs.first(std::min(logprobs.size(), tokens.size()));
  }
  stream_.push_tokens(tokens, logprobs, events);
  if (stream_.stopped()) {
    stream_.finish("stop", prompt_usage(), events);
  } else if (output.finish == FinishReason::kStop || output.finish == FinishReason::kLength) {
    if (end_token) {
      stream_.count_end_token();
    }
    stream_.flush(events);
    stream_.finish(output.finish == FinishReason::kLength ? "length" : "stop", prompt_usage(),
                   events);
  }
  return events;
}

ResponsesUsage ResponsesAssembler::prompt_usage() const {
  return {.prompt_tokens = prompt_tokens_,
          .cached_tokens = std::min(cached_tokens_, prompt_tokens_)};
}

std::vector<Event> ResponsesAssembler::failed(std::string error_body) {
  std::vector<Event> events;
  stream_.fail(error_body, events);
  return events;
}

}  // namespace deepinfer::protocol
