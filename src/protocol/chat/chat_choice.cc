#include "protocol/chat/chat_choice.h"

#include <algorithm>
#include <utility>

#include "protocol/logprobs_json.h"
#include "protocol/output_rules.h"

namespace deepinfer::protocol {
namespace {

using recipe::MessageDelta;
using recipe::ThinkingStage;

}  // namespace

ChatChoice::ChatChoice(const Settings& settings, const recipe::Tokenizer* tokenizer)
    : settings_(settings),
      tokenizer_(tokenizer),
      parser_(tokenizer, settings.control, settings.parsing, output_rules(settings.policy)),
      logprobs_(tokenizer, settings.policy.logprobs_once) {}

void ChatChoice::open(const ChunkWriter& writer, std::vector<std::string>& chunks) {
  if (opened_ || settings_.policy.lean_deltas) {
    return;
  }
  opened_ = true;
  if (settings_.streams) {
    chunks.push_back(writer.role(settings_.index));
  }
}

void ChatChoice::push_tokens(std::span<const TokenId> tokens,
                             std::span<const PositionLogprobs> logprobs, const ChunkWriter& writer,
                             std::vector<std::string>& chunks) {
  open(writer, chunks);
  logprobs_.add(logprobs);
  parser_.push_tokens(tokens, deltas_);
  take(writer, chunks);
}

void ChatChoice::push_text(std::string_view text, uint64_t num_tokens, const ChunkWriter& writer,
                           std::vector<std::string>& chunks) {
  open(writer, chunks);
  other_tokens_ += num_tokens;
  parser_.push_text(text, deltas_);
  take(writer, chunks);
}

void ChatChoice::flush(const ChunkWriter& writer, std::vector<std::string>& chunks) {
  open(writer, chunks);
  parser_.finish(settings_.policy.flush_partial_character, deltas_);
  take(writer, chunks);
}

void ChatChoice::finish(std::string_view reason, const ChunkWriter& writer, const ChatUsage* usage,
                        std::vector<std::string>& chunks) {
  open(writer, chunks);
  if (reason == "stop") {
    parser_.repeat_open_reasoning(deltas_);
    take(writer, chunks);
  }
  message_.finish_reason = finish_reason(reason);
  if (settings_.streams) {
    chunks.push_back(writer.finish(settings_.index, message_.finish_reason, !opened_, usage));
  }
}

/// `stop` becomes `tool_calls` when calls were made; a limit stays what it is.
std::string_view ChatChoice::finish_reason(std::string_view reason) const {
  if (reason != "stop" || parser_.stop_sequence()) {
    return reason.empty() ? "stop" : reason;
  }
  const bool whole = settings_.policy.whole_calls_only;
  const bool called = std::any_of(message_.calls.begin(), message_.calls.end(),
                                  [&](const MessageCall& call) { return call.complete || !whole; });
  return called ? "tool_calls" : "stop";
}

void ChatChoice::take(const ChunkWriter& writer, std::vector<std::string>& chunks) {
  for (MessageDelta& delta : deltas_) {
    take_one(delta, writer, chunks);
  }
  deltas_.clear();
}

void ChatChoice::take_one(MessageDelta& delta, const ChunkWriter& writer,
                          std::vector<std::string>& chunks) {
  std::string entries;
  switch (delta.kind) {
    case MessageDelta::Kind::kReasoning:
      message_.reasoning += delta.text;
      entries = logprob_entries(delta);
      break;
    case MessageDelta::Kind::kContent:
      message_.content += delta.text;
      entries = logprob_entries(delta);
      break;
    case MessageDelta::Kind::kCallBegin:
      message_.calls.push_back(
          {.id = new_call_id(delta.call_index, settings_.thinking && message_.reasoning.empty()),
           .name = delta.text});
      break;
    case MessageDelta::Kind::kCallArguments:
      message_.calls.back().arguments += delta.text;
      break;
    case MessageDelta::Kind::kCallEnd:
      message_.calls.back().complete = true;
      return;
  }
  if (settings_.streams) {
    const std::string_view id =
        message_.calls.empty() ? std::string_view() : message_.calls.back().id;
    chunks.push_back(writer.delta(settings_.index, delta, !opened_, id, entries));
  }
  opened_ = true;
}

std::string ChatChoice::logprob_entries(const MessageDelta& delta) {
  std::string entries = logprobs_.entries(delta);
  if (!entries.empty()) {
    message_.any_logprobs = true;
    std::string& all = delta.kind == MessageDelta::Kind::kContent ? message_.content_logprobs
                                                                  : message_.reasoning_logprobs;
    all += all.empty() ? "" : ",";
    all += entries;
  }
  return entries;
}

uint64_t ChatChoice::completion_tokens() const {
  return other_tokens_ +
         (settings_.policy.count_as_generated ? parser_.tokens_taken() : parser_.tokens_decoded());
}

std::optional<uint64_t> ChatChoice::reasoning_tokens() const {
  if (settings_.policy.count_as_generated) {
    return parser_.reasoning_tokens();
  }
  const bool thinks =
      settings_.thinking && settings_.parsing.thinking_initial_stage != ThinkingStage::kNone;
  if (!thinks || tokenizer_ == nullptr) {
    return std::nullopt;
  }
  return tokenizer_->encode_full(message_.reasoning).size();
}

}  // namespace deepinfer::protocol
