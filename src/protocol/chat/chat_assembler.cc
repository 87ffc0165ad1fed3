#include "protocol/chat/chat_assembler.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "protocol/conversion.h"

namespace deepinfer::protocol {
namespace {

std::vector<Event> to_events(std::vector<std::string> chunks) {
  std::vector<Event> events;
  events.reserve(chunks.size());
  for (std::string& chunk : chunks) {
    events.push_back({.name = {}, .data = std::move(chunk)});
  }
  return events;
}

}  // namespace

ChatAssembler::ChatAssembler(const Settings& settings, const recipe::Recipe& recipe)
    : settings_(settings), writer_(settings.envelope, settings.policy) {
  choices_.reserve(static_cast<size_t>(settings.num_choices));
  for (int32_t i = 0; i < settings.num_choices; ++i) {
    choices_.emplace_back(ChatChoice::Settings{.index = i,
                                               .thinking = settings.envelope.thinking,
                                               .streams = settings.stream,
                                               .parsing = settings.parsing,
                                               .control = recipe.control(),
                                               .policy = settings.policy},
                          &recipe.tokenizer());
  }
}

std::vector<Event> ChatAssembler::push(int32_t index, const TokenOutput& output) {
  DI_CHECK(index >= 0 && static_cast<size_t>(index) < choices_.size());
  ChatChoice& choice = choices_[static_cast<size_t>(index)];
  if (choice.done()) {
    return {};
  }
  cached_tokens_ = std::max(cached_tokens_, static_cast<uint64_t>(output.usage.cached_tokens));
  std::vector<std::string> chunks;
  std::span<const TokenId> tokens(output.tokens);
  std::span<const PositionLogprobs> logprobs(output.logprobs);
  const auto& ends = settings_.end_tokens;
  const bool end_token = output.finish == FinishReason::kStop && !tokens.empty() &&
                         std::find(ends.begin(), ends.end(), tokens.back()) != ends.end();
  if (end_token) {
    tokens = tokens.first(tokens.size() - 1);
    logprobs = logprobs.first(std::min(logprobs.size(), tokens.size()));
  }
  choice.push_tokens(tokens, logprobs, writer_, chunks);
  if (choice.stopped()) {
    end_choice(choice, "stop", chunks);
  } else if (output.finish == FinishReason::kStop || output.finish == FinishReason::kLength) {
    if (end_token) {
      choice.count_end_token();
    }
    choice.flush(writer_, chunks);
    end_choice(choice, output.finish == FinishReason::kLength ? "length" : "stop", chunks);
  }
  if (settings_.continuous_usage) {
    const ChatUsage now = usage();
    for (std::string& chunk : chunks) {
      chunk = ChunkWriter::with_usage(std::move(chunk), now);
    }
  }
  return to_events(std::move(chunks));
}

void ChatAssembler::end_choice(ChatChoice& choice, std::string_view reason,
                               std::vector<std::string>& chunks) {
  const ChatUsage now = usage();
  choice.finish(reason, writer_, settings_.policy.usage_chunk ? nullptr : &now, chunks);
}

bool ChatAssembler::choice_done(int32_t index) const {
  DI_CHECK(index >= 0 && static_cast<size_t>(index) < choices_.size());
  return choices_[static_cast<size_t>(index)].done();
}

ChatUsage ChatAssembler::usage() const {
  ChatUsage usage{.prompt_tokens = settings_.prompt_tokens,
                  .cached_tokens = std::min(cached_tokens_, settings_.prompt_tokens)};
  for (const ChatChoice& choice : choices_) {
    usage.completion_tokens += choice.completion_tokens();
    if (const auto reasoning = choice.reasoning_tokens()) {
      usage.reasoning_tokens = usage.reasoning_tokens.value_or(0) + *reasoning;
    }
  }
  return usage;
}

std::vector<Event> ChatAssembler::finish() {
  std::vector<Event> events;
  if (settings_.policy.usage_chunk && settings_.include_usage) {
    events.push_back({.name = {}, .data = writer_.usage(usage())});
  }
  events.push_back({.name = {}, .data = "[DONE]"});
  return events;
}

std::string ChatAssembler::response() {
  std::vector<const ChatMessageText*> messages;
  for (const ChatChoice& choice : choices_) {
    messages.push_back(&choice.message());
  }
  return writer_.response(messages, usage());
}

uint32_t ChatAssembler::invalid_arguments() const {
  uint32_t count = 0;
  for (const ChatChoice& choice : choices_) {
    count += choice.invalid_arguments();
  }
  return count;
}

}  // namespace deepinfer::protocol
