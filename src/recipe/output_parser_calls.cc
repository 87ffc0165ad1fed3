// The tool-call half of OutputParser: what the states between `<DSML` and the end of the block
// do with completed patterns and with the text between them.

#include <utility>

#include "recipe/json_text.h"
#include "recipe/output_parser.h"

namespace deepinfer::recipe {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_json(std::string_view text) {
  // The parser behind `accept` takes a NUL for the end of its input.
  return !text.empty() && text.find('\0') == std::string_view::npos && text.front() != '\xEF' &&
         Json::accept(text);
}

struct Tag {
  std::string_view key;
  std::optional<bool> is_string;
};

/// `"KEY" string="true` → key and attribute. The key may hold anything, quotes included.
std::optional<Tag> read_tag(std::string_view tag) {
  constexpr std::string_view kAttribute = "\" string=\"";
  if (tag.empty() || tag.front() != '"') {
    return std::nullopt;
  }
  tag.remove_prefix(1);
  const size_t at = tag.rfind(kAttribute);
  if (at == std::string_view::npos) {
    return Tag{tag, std::nullopt};
  }
  const std::string_view value = tag.substr(at + kAttribute.size());
  return Tag{tag.substr(0, at), value == "true"    ? std::optional(true)
                                : value == "false" ? std::optional(false)
                                                   : std::nullopt};
}

}  // namespace

void OutputParser::on_call_match(int32_t pattern, size_t begin, Out& out) {
  take(begin, out);
  const Span marker = consume(scanned_ - head_);
  switch (state_) {
    case State::kStrayTag:
      return enter(outer_state_);
    case State::kBetweenCalls:
      return on_between_calls_match(pattern);
    case State::kCallName:
      return on_name_match(pattern, out);
    case State::kInCall:
      return on_in_call_match(pattern, marker, out);
    case State::kKey:
      return on_key_match(pattern, marker, out);
    case State::kAttribute:
      typed_as_string_ = pattern == 0;
      if (typed_as_string_) {
        call_delta(MessageDelta::Kind::kCallArguments, "\"", marker, out);
      }
      return enter(typed_as_string_ ? State::kStringValue : State::kRawValue);
    case State::kStringValue:
    case State::kRawValue:
      return on_value_match(marker, out);
    default:
      return;
  }
}

void OutputParser::on_between_calls_match(int32_t pattern) {
  if (pattern == 0) {
    collected_.clear();
    return enter(State::kCallName);
  }
  // Beyond the reference: a block without any call may have been a stray tag, and what follows
  // it is the answer.
  if (rules_.hide_markup && calls_begun_ == 0 && !options_.starts_in_tool_calls) {
    enter(answer_state());
    skip_line_feeds_ = true;
    return;
  }
  enter(State::kDone);
}

void OutputParser::on_name_match(int32_t pattern, Out& out) {
  if (pattern != 0) {
    return enter(State::kBetweenCalls);
  }
  parameters_ = 0;
  call_delta(MessageDelta::Kind::kCallBegin, std::move(collected_), {}, out);
  ++calls_begun_;
  collected_.clear();
  enter(State::kInCall);
}

void OutputParser::on_in_call_match(int32_t pattern, const Span& marker, Out& out) {
  if (pattern == 0) {
    collected_.clear();
    if (!rules_.typed_arguments) {
      call_delta(MessageDelta::Kind::kCallArguments, parameters_++ == 0 ? "{" : ", ", marker, out);
    }
    return enter(State::kKey);
  }
  end_call(marker, out);
  if (pattern == 2 && !stopped_) {
    collected_.clear();
    enter(State::kCallName);
  }
}

void OutputParser::end_call(const Span& marker, Out& out) {
  call_delta(MessageDelta::Kind::kCallArguments, parameters_ == 0 ? "{}" : "}", marker, out);
  call_delta(MessageDelta::Kind::kCallEnd, {}, marker, out);
  enter(State::kBetweenCalls);
  stopped_ = options_.single_call && options_.parse_tool_calls;
}

void OutputParser::on_key_match(int32_t pattern, const Span& marker, Out& out) {
  if (!rules_.typed_arguments) {
    call_delta(MessageDelta::Kind::kCallArguments, ": ", marker, out);
    return enter(State::kAttribute);
  }
  const std::optional<Tag> tag = pattern == 0 ? read_tag(collected_) : std::nullopt;
  if (!tag) {
    // A damaged tag spoils its call, which never gets its end.
    return enter(State::kBetweenCalls);
  }
  std::string text = parameters_++ == 0 ? "{" : ", ";
  append_json_string(tag->key, text);
  text += ": ";
  typed_as_string_ = tag->is_string.value_or(false);
  counts_as_invalid_ = tag->is_string.has_value();
  if (typed_as_string_) {
    text += '"';
  }
  call_delta(MessageDelta::Kind::kCallArguments, std::move(text), marker, out);
  collected_.clear();
  enter(typed_as_string_ ? State::kStringValue : State::kRawValue);
}

void OutputParser::on_value_match(const Span& marker, Out& out) {
  if (state_ == State::kStringValue) {
    call_delta(MessageDelta::Kind::kCallArguments, "\"", marker, out);
  } else if (rules_.typed_arguments) {
    std::string text;
    if (const std::string_view value = trimmed(collected_); is_json(value)) {
      text = value;
    } else {
      append_json_string(collected_, text);
      invalid_values_ += counts_as_invalid_ ? 1 : 0;
    }
    call_delta(MessageDelta::Kind::kCallArguments, std::move(text), marker, out);
    collected_.clear();
  }
  enter(State::kInCall);
}

/// Text between patterns, in a tool-call state.
void OutputParser::take_in_call(size_t n, Out& out) {
  const std::string_view text = std::string_view(pending_).substr(head_, n);
  switch (state_) {
    case State::kCallName:
      collected_ += text;
      consume(n);
      return;
    case State::kKey:
    case State::kRawValue:
      if (rules_.typed_arguments) {
        collected_ += text;
        consume(n);
        return;
      }
      break;
    case State::kStringValue: {
      std::string escaped;
      append_json_escaped(text, escaped);
      const Span span = consume(n);
      return call_delta(MessageDelta::Kind::kCallArguments, std::move(escaped), span, out);
    }
    default:
      consume(n);
      return;
  }
  std::string copy(text);
  const Span span = consume(n);
  call_delta(MessageDelta::Kind::kCallArguments, std::move(copy), span, out);
}

void OutputParser::call_delta(MessageDelta::Kind kind, std::string text, const Span& tokens,
                              Out& out) {
  if (!options_.parse_tool_calls) {
    return;
  }
  const int32_t index = kind == MessageDelta::Kind::kCallBegin ? calls_begun_ : calls_begun_ - 1;
  out.push_back({.kind = kind,
                 .call_index = index,
                 .text = std::move(text),
                 .token_begin = tokens.token_begin,
                 .token_end = tokens.token_end});
}

}  // namespace deepinfer::recipe
