#include "protocol/messages/messages_stream.h"

#include <algorithm>
#include <utility>

#include "protocol/output_rules.h"

namespace deepinfer::protocol {
namespace {

using recipe::MessageDelta;
using Kind = AnswerBlock::Kind;

}  // namespace

MessagesStream::MessagesStream(const Settings& settings, const recipe::Tokenizer* tokenizer)
    : settings_(settings),
      writer_(settings.envelope),
      parser_(tokenizer, settings.control, settings.parsing, output_rules(settings.policy)) {}

void MessagesStream::open(const MessagesUsage& prompt, std::vector<Event>& events) {
  if (opened_) {
    return;
  }
  opened_ = true;
  events.push_back(writer_.message_start(prompt));
  if (settings_.envelope.thinking && !settings_.policy.lean_blocks) {
    begin_block({.kind = Kind::kThinking}, events);
  }
}

void MessagesStream::push_tokens(std::span<const TokenId> tokens, std::vector<Event>& events) {
  parser_.push_tokens(tokens, deltas_);
  take(events);
}

void MessagesStream::push_text(std::string_view text, uint64_t num_tokens,
                               std::vector<Event>& events) {
  other_tokens_ += num_tokens;
  parser_.push_text(text, deltas_);
  take(events);
}

void MessagesStream::flush(std::vector<Event>& events) {
  parser_.finish(settings_.policy.flush_partial_character, deltas_);
  take(events);
}

void MessagesStream::finish(std::string_view reason, const MessagesUsage& usage,
                            std::vector<Event>& events) {
  if (reason == "stop") {
    parser_.repeat_open_reasoning(deltas_);
    take(events);
  }
  end_block(events);
  stop_.reason = stop_reason(reason);
  if (const auto sequence = parser_.stop_sequence()) {
    stop_.by_sequence = true;
    stop_.sequence = *sequence;
  }
  events.push_back(writer_.message_delta(stop_, usage));
  events.push_back(writer_.message_stop());
}

/// `stop` becomes `tool_use` when calls were made; a limit stays what it is.
std::string_view MessagesStream::stop_reason(std::string_view reason) const {
  if (parser_.stop_sequence()) {
    return "stop_sequence";
  }
  if (reason == "length") {
    return "max_tokens";
  }
  if (reason == "content_filter") {
    return "refusal";
  }
  const bool whole = settings_.policy.whole_calls_only;
  const bool called = std::any_of(blocks_.begin(), blocks_.end(), [&](const AnswerBlock& block) {
    return block.kind == Kind::kToolUse && (block.complete || !whole);
  });
  return called && !reason.empty() ? "tool_use" : "end_turn";
}

void MessagesStream::take(std::vector<Event>& events) {
  for (MessageDelta& delta : deltas_) {
    take_one(delta, events);
  }
  deltas_.clear();
}

void MessagesStream::take_one(MessageDelta& delta, std::vector<Event>& events) {
  Kind kind = Kind::kToolUse;
  switch (delta.kind) {
    case MessageDelta::Kind::kReasoning:
      kind = Kind::kThinking;
      has_thought_ = true;
      break;
    case MessageDelta::Kind::kContent:
      kind = Kind::kText;
      break;
    case MessageDelta::Kind::kCallBegin:
      begin_block(
          {.kind = kind,
           .text = {},
           .id = new_call_id(delta.call_index, settings_.envelope.thinking && !has_thought_),
           .name = std::move(delta.text)},
          events);
      return;
    case MessageDelta::Kind::kCallArguments:
      break;
    case MessageDelta::Kind::kCallEnd:
      blocks_.back().complete = true;
      return;
  }
  if (!block_open_ || blocks_.back().kind != kind) {
    begin_block({.kind = kind}, events);
  }
  blocks_.back().text += delta.text;
  events.push_back(writer_.delta(blocks_.size() - 1, kind, delta.text));
}

void MessagesStream::begin_block(AnswerBlock block, std::vector<Event>& events) {
  end_block(events);
  events.push_back(writer_.block_start(blocks_.size(), block));
  if (blocks_.empty()) {
    events.push_back(writer_.ping());
  }
  blocks_.push_back(std::move(block));
  block_open_ = true;
}

void MessagesStream::end_block(std::vector<Event>& events) {
  if (!block_open_) {
    return;
  }
  const size_t index = blocks_.size() - 1;
  if (blocks_.back().kind == Kind::kThinking) {
    events.push_back(writer_.signature(index));
  }
  events.push_back(writer_.block_stop(index));
  block_open_ = false;
}

uint64_t MessagesStream::completion_tokens() const {
  return other_tokens_ +
         (settings_.policy.count_as_generated ? parser_.tokens_taken() : parser_.tokens_decoded());
}

std::string MessagesStream::response(const MessagesUsage& usage) const {
  std::vector<const AnswerBlock*> blocks;
  for (const AnswerBlock& block : blocks_) {
    const bool cut = block.kind == Kind::kToolUse && !block.complete;
    if (!(cut && settings_.policy.whole_calls_only)) {
      blocks.push_back(&block);
    }
  }
  return writer_.message(blocks, stop_, usage);
}

}  // namespace deepinfer::protocol
