#include "protocol/responses/responses_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "protocol/output_rules.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::MessageDelta;
using Kind = OutputItem::Kind;

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ResponsesStream::ResponsesStream(const Settings& settings, ResponseWriter writer,
                                 const recipe::Tokenizer* tokenizer)
    : settings_(settings),
      tokenizer_(tokenizer),
      writer_(std::move(writer)),
      parser_(tokenizer, settings.control, settings.parsing, output_rules(settings.policy)),
      logprobs_(tokenizer, settings.policy.logprobs_once) {}

void ResponsesStream::open(std::vector<Event>& events) {
  if (opened_) {
    return;
  }
  opened_ = true;
  const std::string response = writer_.response(state_, items_);
  events.push_back(writer_.response_event("response.created", response));
  events.push_back(writer_.response_event("response.in_progress", response));
}

void ResponsesStream::push_tokens(std::span<const TokenId> tokens,
                                  std::span<const PositionLogprobs> logprobs,
                                  std::vector<Event>& events) {
  open(events);
  logprobs_.add(logprobs);
  parser_.push_tokens(tokens, deltas_);
  take(events);
}

void ResponsesStream::push_text(std::string_view text, uint64_t num_tokens,
                                std::vector<Event>& events) {
  open(events);
  other_tokens_ += num_tokens;
  parser_.push_text(text, deltas_);
  take(events);
}

void ResponsesStream::flush(std::vector<Event>& events) {
  open(events);
  parser_.finish(settings_.policy.flush_partial_character, deltas_);
  take(events);
}

void ResponsesStream::finish(std::string_view reason, ResponsesUsage prompt,
                             std::vector<Event>& events) {
  open(events);
  if (reason == "stop") {
    parser_.repeat_open_reasoning(deltas_);
    take(events);
  }
  const bool cut = reason == "length" || reason == "content_filter";
  end_item(cut, events);
  state_.usage = full_usage(prompt);
  state_.completed = unix_seconds();
  state_.status = cut ? "incomplete" : "completed";
  if (cut) {
    state_.incomplete_reason = reason == "length" ? "max_output_tokens" : "content_filter";
  }
  events.push_back(writer_.response_event(cut ? "response.incomplete" : "response.completed",
                                          writer_.response(state_, items_)));
}

void ResponsesStream::fail(std::string_view error_body, std::vector<Event>& events) {
  const Json error = Json::parse(error_body).value("error", Json::object());
  state_.status = "failed";
  state_.error = R"({"code":"server_error","message":)";
  recipe::append_json_string(error.value("message", std::string()), state_.error);
  state_.error += '}';
  open(events);
  events.push_back(writer_.response_event("response.failed", writer_.response(state_, items_)));
  events.push_back(writer_.error(error_body));
}

// ------------------------------------------------------------------------- deltas

void ResponsesStream::take(std::vector<Event>& events) {
  for (MessageDelta& delta : deltas_) {
    take_one(delta, events);
  }
  deltas_.clear();
}

void ResponsesStream::take_one(MessageDelta& delta, std::vector<Event>& events) {
  switch (delta.kind) {
    case MessageDelta::Kind::kReasoning:
      return take_text(Kind::kReasoning, delta, events);
    case MessageDelta::Kind::kContent:
      return take_text(Kind::kMessage, delta, events);
    case MessageDelta::Kind::kCallBegin:
      return begin_call(std::move(delta.text), delta.call_index, events);
    case MessageDelta::Kind::kCallArguments:
      return take_arguments(delta.text, events);
    case MessageDelta::Kind::kCallEnd:
      items_.back().call_complete = true;
      return;
  }
}

void ResponsesStream::take_text(Kind kind, const MessageDelta& delta, std::vector<Event>& events) {
  if (!item_open_ || items_.back().kind != kind) {
    begin_item({.kind = kind}, events);
    events.push_back(writer_.part_added(items_.back()));
  }
  OutputItem& item = items_.back();
  item.text += delta.text;
  std::string entries;
  if (kind == Kind::kMessage) {
    entries = logprobs_.entries(delta);
    item.logprobs += item.logprobs.empty() || entries.empty() ? "" : ",";
    item.logprobs += entries;
  }
  events.push_back(writer_.text_delta(item, delta.text, entries));
}

void ResponsesStream::take_arguments(std::string_view arguments, std::vector<Event>& events) {
  OutputItem& item = items_.back();
  if (item.kind != Kind::kCustomCall) {
    item.text += arguments;
    if (item.kind == Kind::kFunctionCall) {
      events.push_back(writer_.text_delta(item, arguments, {}));
    }
    return;
  }
  const std::string text = item.input.push(arguments);
  item.text += text;
  if (!text.empty()) {
    events.push_back(writer_.text_delta(item, text, {}));
  }
}

void ResponsesStream::begin_call(std::string name, int32_t index, std::vector<Event>& events) {
  const CallNames& names = settings_.names;
  OutputItem call{.kind = Kind::kFunctionCall,
                  .call_id = new_call_id(index, settings_.thinking && !has_thought())};
  if (const auto spaced = names.spaced.find(name); spaced != names.spaced.end()) {
    call.name = spaced->second.name;
    call.space = spaced->second.space;
  } else {
    if (names.custom.count(name) > 0) {
      call.kind = Kind::kCustomCall;
    } else if (names.has_search && name == kToolSearch) {
      call.kind = Kind::kSearchCall;
    }
    call.name = std::move(name);
  }
  if (item_open_ && items_.back().kind == Kind::kMessage) {
    items_.back().is_commentary = true;
  }
  begin_item(std::move(call), events);
}

// ------------------------------------------------------------------------- items

void ResponsesStream::begin_item(OutputItem item, std::vector<Event>& events) {
  end_item(false, events);
  item.index = items_.size();
  item.id = output_item_id(item.kind, writer_.envelope().id, item.index);
  items_.push_back(std::move(item));
  item_open_ = true;
  events.push_back(writer_.item_added(items_.back()));
}

void ResponsesStream::end_item(bool cut, std::vector<Event>& events) {
  if (!item_open_) {
    return;
  }
  item_open_ = false;
  OutputItem& item = items_.back();
  if (item.kind == Kind::kCustomCall) {
    const std::string rest = item.input.finish();
    item.text += rest;
    if (!rest.empty()) {
      events.push_back(writer_.text_delta(item, rest, {}));
    }
  }
  item.status = end_status(item, cut);
  if (item.kind != Kind::kSearchCall) {
    events.push_back(writer_.text_done(item));
  }
  if (item.kind == Kind::kReasoning || item.kind == Kind::kMessage) {
    events.push_back(writer_.part_done(item));
  }
  events.push_back(writer_.item_done(item));
}

/// The reference calls the last item incomplete when the output was cut, and no other.
OutputItem::Status ResponsesStream::end_status(OutputItem& item, bool cut) const {
  using Status = OutputItem::Status;
  const bool is_call = item.kind != Kind::kReasoning && item.kind != Kind::kMessage;
  Status status = cut ? Status::kIncomplete : Status::kCompleted;
  if (is_call && settings_.policy.whole_calls_only) {
    status = item.call_complete ? Status::kCompleted : Status::kIncomplete;
  }
  if (item.kind == Kind::kSearchCall && status == Status::kCompleted) {
    const auto arguments = search_arguments(item);
    status = arguments ? Status::kCompleted : Status::kIncomplete;
    item.text = arguments.value_or(std::string());
  }
  return status;
}

bool ResponsesStream::has_thought() const {
  return std::any_of(items_.begin(), items_.end(),
                     [](const OutputItem& item) { return item.kind == Kind::kReasoning; });
}

ResponsesUsage ResponsesStream::full_usage(ResponsesUsage prompt) const {
  if (settings_.policy.count_as_generated) {
    prompt.completion_tokens = other_tokens_ + parser_.tokens_taken();
    prompt.reasoning_tokens = parser_.reasoning_tokens();
    return prompt;
  }
  prompt.completion_tokens = other_tokens_ + parser_.tokens_decoded();
  std::string reasoning;
  for (const OutputItem& item : items_) {
    reasoning += item.kind == Kind::kReasoning ? item.text : std::string();
  }
  if (tokenizer_ != nullptr) {
    prompt.reasoning_tokens = tokenizer_->encode_full(reasoning).size();
  }
  return prompt;
}

}  // namespace deepinfer::protocol
