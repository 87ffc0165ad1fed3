#include "protocol/messages/messages_assembler.h"

#include <algorithm>
#include <span>

#include "protocol/messages/messages_error.h"

namespace deepinfer::protocol {

MessagesAssembler::MessagesAssembler(const Settings& settings, const recipe::Recipe& recipe)
    : end_tokens_(settings.end_tokens),
      prompt_tokens_(settings.prompt_tokens),
      stream_({.envelope = settings.envelope,
               .parsing = settings.parsing,
               .control = recipe.control(),
               .policy = settings.policy},
              &recipe.tokenizer()) {}

std::vector<Event> MessagesAssembler::push(int32_t, const TokenOutput& output) {
  std::vector<Event> events;
  if (stream_.done()) {
    return events;
  }
  cached_tokens_ = std::max(cached_tokens_, static_cast<uint64_t>(output.usage.cached_tokens));
  std::span<const TokenId> tokens(output.tokens);
  const bool end_token =
      output.finish == FinishReason::kStop && !tokens.empty() &&
      std::find(end_tokens_.begin(), end_tokens_.end(), tokens.back()) != end_tokens_.end();
  if (end_token) {
    tokens = tokens.first(tokens.size() - 1);
  }
  stream_.open(usage(), events);
  stream_.push_tokens(tokens, events);
  if (stream_.stopped()) {
    stream_.finish("stop", usage(), events);
  } else if (output.finish == FinishReason::kStop || output.finish == FinishReason::kLength) {
    if (end_token) {
      stream_.count_end_token();
    }
    stream_.flush(events);
    const bool cut = output.finish == FinishReason::kLength;
    if (stream_.stopped()) {
      stream_.finish("stop", usage(), events);
    } else {
      stream_.finish(cut ? "length" : "stop", usage(), events);
    }
  }
  return events;
}

MessagesUsage MessagesAssembler::usage() const {
  return {.prompt_tokens = prompt_tokens_,
          .cached_tokens = std::min(cached_tokens_, prompt_tokens_),
          .completion_tokens = stream_.completion_tokens()};
}

std::vector<Event> MessagesAssembler::keep_alive() {
  if (!stream_.opened() || stream_.done()) {
    return {};
  }
  return {stream_.writer().ping()};
}

}  // namespace deepinfer::protocol
