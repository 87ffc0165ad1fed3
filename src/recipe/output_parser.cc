#include "recipe/output_parser.h"

#include <algorithm>
#include <utility>

namespace deepinfer::recipe {
namespace {

// Bytes that never occur in UTF-8 stand for the control tokens within the pending text.
constexpr char kThinkEndByte = '\xFE';
constexpr char kDsmlByte = '\xFF';
constexpr std::string_view kThinkEndSpelling = "</think>";
constexpr std::string_view kDsmlSpelling = "｜DSML｜";
constexpr std::string_view kBar = "｜";

bool is_marker_byte(uint8_t byte) {
  return byte >= 0xFE;
}

/// Whether `text` ends in the beginning of one of `words`, not all of it.
bool ends_in_beginning(std::string_view text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    for (size_t n = std::min(text.size(), word.size() - 1); n > 0; --n) {
      if (text.ends_with(word.substr(0, n))) {
        return true;
      }
    }
    return false;
  });
}

}  // namespace

OutputParser::OutputParser(const Tokenizer* tokenizer, const ControlTokens& control,
                           const ParsingOptions& options, const OutputRules& rules)
    : tokenizer_(tokenizer), control_(control), options_(options), rules_(rules) {
  if (tokenizer_ != nullptr) {
    detokenizer_ = std::make_unique<IncrementalDetokenizer>(*tokenizer_);
  }
  const ThinkingStage stage = options_.thinking_initial_stage;
  skip_line_feeds_ = stage == ThinkingStage::kNone || stage == ThinkingStage::kReasoningStart;
  if (options_.starts_in_tool_calls) {
    state_ = State::kBetweenCalls;
  } else if (stage == ThinkingStage::kNone || stage == ThinkingStage::kContentContinuation) {
    state_ = answer_state();
  } else {
    state_ = State::kReasoning;
  }
}

OutputParser::State OutputParser::answer_state() const {
  return options_.parse_json_output ? State::kJsonBefore : State::kAnswer;
}

const StopMatcher& OutputParser::matcher(State state) {
  auto& slot = matchers_[2 * static_cast<size_t>(state) + (spelled_ ? 1 : 0)];
  if (slot == nullptr) {
    slot = std::make_unique<StopMatcher>(patterns_of(state));
  }
  return *slot;
}

std::vector<std::string> OutputParser::spellings_of(Marker marker) const {
  if (marker == Marker::kThinkEnd) {
    return {std::string(spelled_ ? kThinkEndSpelling : std::string_view(&kThinkEndByte, 1))};
  }
  const std::string dsml(spelled_ ? kDsmlSpelling : std::string_view(&kDsmlByte, 1));
  std::vector<std::string> spellings;
  if (recognises_calls()) {
    spellings.push_back("<" + dsml);
  }
  if (rules_.hide_markup && !spelled_) {
    spellings.push_back("</" + dsml);
    spellings.push_back(dsml);
  }
  return spellings;
}

/// In the order of priority among patterns that complete together; the numbers are those of
/// the `on_..._match` functions.
std::vector<std::string> OutputParser::patterns_of(State state) const {
  const std::string dsml(spelled_ ? kDsmlSpelling : std::string_view(&kDsmlByte, 1));
  const std::string open = "<" + dsml;
  const std::string close = "</" + dsml;
  std::vector<std::string> patterns;
  const auto add = [&](Marker marker) {
    const std::vector<std::string> spellings = spellings_of(marker);
    patterns.insert(patterns.end(), spellings.begin(), spellings.end());
  };
  switch (state) {
    case State::kReasoning:
      add(Marker::kThinkEnd);
      add(Marker::kTools);
      break;
    case State::kAnswer:
      patterns = options_.stop_sequences;
      add(Marker::kThinkEnd);
      add(Marker::kTools);
      break;
    case State::kJsonBefore:
      patterns = {"{", "[", "```json\n", "```\n"};
      add(Marker::kThinkEnd);
      add(Marker::kTools);
      break;
    case State::kJsonInside:
      patterns = options_.stop_sequences;
      patterns.push_back("\n```");
      break;
    case State::kStrayTag:
      patterns = {">", "\n"};
      break;
    case State::kBetweenCalls:
      patterns = {"invoke name=\"", close + "tool_calls>", close + " calls>"};
      break;
    case State::kCallName:
      patterns = {"\""};
      if (rules_.typed_arguments) {
        patterns.insert(patterns.end(), {dsml, "\n"});
      }
      break;
    case State::kInCall:
      patterns = {"parameter name=", close};
      if (rules_.typed_arguments) {
        patterns.push_back("invoke name=\"");
      }
      break;
    case State::kKey:
      if (rules_.typed_arguments) {
        patterns = {"\">", dsml};
      } else {
        patterns = {" "};
      }
      break;
    case State::kAttribute:
      patterns = {"true\">", "false\">"};
      break;
    case State::kStringValue:
    case State::kRawValue:
      patterns = {close};
      if (rules_.typed_arguments) {
        patterns.push_back(open);
        patterns.push_back(dsml);
      }
      break;
    case State::kJsonAfter:
    case State::kDone:
      break;
  }
  return patterns;
}

void OutputParser::push_tokens(std::span<const TokenId> ids, Out& out) {
  spelled_ = false;
  while (!ids.empty() && !stopped_ && tokenizer_ != nullptr) {
    size_t n = ordinary_run(ids);
    if (n == 0) {
      push_special(ids.front(), out);
      n = 1;
    } else if (rules_.exact_tokens) {
      push_run(ids.first(1), out);
      n = 1;
    } else {
      push_run(ids.first(n), out);
    }
    ids = ids.subspan(n);
  }
  if (!stopped_) {
    release(out);
  }
}

/// How many ids come before the first control token.
size_t OutputParser::ordinary_run(std::span<const TokenId> ids) const {
  size_t n = 0;
  while (n < ids.size() && !tokenizer_->is_special(ids[n])) {
    ++n;
  }
  return n;
}

void OutputParser::push_run(std::span<const TokenId> ids, Out& out) {
  if (state_ == State::kReasoning) {
    reasoning_tokens_ += static_cast<uint32_t>(ids.size());
  }
  tokens_taken_ += static_cast<uint32_t>(ids.size());
  const std::string text = detokenizer_->push_run(ids);
  if (!text.empty()) {
    append_ordinary(text, first_undecoded_, tokens_taken_);
    first_undecoded_ = tokens_taken_;
    scan(out);
  }
}

void OutputParser::push_special(TokenId id, Out& out) {
  const uint32_t index = tokens_taken_++;
  const bool think_end = id == control_.think_end;
  if (state_ == State::kReasoning && !think_end && !rules_.hide_markup) {
    ++reasoning_tokens_;
  }
  const std::string text = detokenizer_->push(id);
  const std::string_view spelling = tokenizer_->token_bytes(id);
  append_ordinary(
      std::string_view(text).substr(0, text.size() - std::min(text.size(), spelling.size())),
      first_undecoded_, index);
  behind_dsml_ = id == control_.dsml;
  if (behind_dsml_) {
    held_bar_.reset();
  } else {
    give_back_bar();
  }
  first_undecoded_ = index;
  scan(out);  // what waited for more bytes may complete a stop sequence
  if (stopped_) {
    return;
  }
  first_undecoded_ = index + 1;
  if (think_end || id == control_.dsml) {
    append(std::string_view(think_end ? &kThinkEndByte : &kDsmlByte, 1), index, index + 1);
    scan(out);
  } else {
    opaque(rules_.hide_markup ? std::string_view() : spelling, out);
  }
}

void OutputParser::push_text(std::string_view text, Out& out) {
  if (stopped_) {
    return;
  }
  spelled_ = true;
  append(text, tokens_taken_, tokens_taken_);
  scan(out);
  if (!stopped_) {
    release(out);
  }
}

void OutputParser::finish(bool flush_partial_character, Out& out) {
  if (stopped_) {
    return;
  }
  give_back_bar();
  if (flush_partial_character && detokenizer_ != nullptr) {
    append(detokenizer_->finish(), first_undecoded_, tokens_taken_);
  }
  scan(out);
  if (!stopped_) {
    take(available(), out);
  }
}

void OutputParser::repeat_open_reasoning(Out& out) {
  if (state_ == State::kReasoning && !open_reasoning_.empty()) {
    out.push_back({.kind = MessageDelta::Kind::kContent, .text = std::move(open_reasoning_)});
    open_reasoning_.clear();
  }
}

void OutputParser::append(std::string_view text, uint32_t token_begin, uint32_t token_end) {
  if (text.empty()) {
    return;
  }
  if (head_ == pending_.size()) {
    pending_.clear();
    head_ = scanned_ = 0;
    line_feeds_ = {};
  }
  pending_ += text;
  spans_.push_back({text.size(), token_begin, token_end});
}

/// Text between control tokens. The model sometimes doubles the bars of its DSML token, as in
/// `<｜` DSML `｜ calls>`; they are no text, and without them the tag is whole.
void OutputParser::append_ordinary(std::string_view text, uint32_t token_begin,
                                   uint32_t token_end) {
  if (text.empty() || !rules_.hide_markup) {
    return append(text, token_begin, token_end);
  }
  give_back_bar();
  if (std::exchange(behind_dsml_, false) && text.starts_with(kBar)) {
    text.remove_prefix(kBar.size());
  }
  if (ends_in_tag_and_bar(text)) {
    held_bar_ = Span{kBar.size(), token_begin, token_end};
    text.remove_suffix(kBar.size());
  }
  append(text, token_begin, token_end);
}

bool OutputParser::ends_in_tag_and_bar(std::string_view text) const {
  if (!text.ends_with(kBar)) {
    return false;
  }
  text.remove_suffix(kBar.size());
  // What could begin a tag is still pending.
  const std::string_view before = text.empty() ? std::string_view(pending_).substr(head_) : text;
  return before.ends_with('<') || before.ends_with("</");
}

void OutputParser::give_back_bar() {
  if (held_bar_) {
    append(kBar, held_bar_->token_begin, held_bar_->token_end);
    held_bar_.reset();
  }
}

bool OutputParser::skip_line_feed(uint8_t byte, Out& out) {
  if (!skip_line_feeds_) {
    return false;
  }
  if (byte != '\n') {
    skip_line_feeds_ = false;
    return false;
  }
  const auto& stops = options_.stop_sequences;
  const auto stop = std::find(stops.begin(), stops.end(), "\n");
  if (state_ == State::kAnswer && stop != stops.end()) {
    stop_here(static_cast<size_t>(stop - stops.begin()), 0, out);
    return true;
  }
  drop(1);
  scanned_ = head_;
  return true;
}

void OutputParser::scan(Out& out) {
  const StopMatcher* patterns = &matcher(state_);
  while (scanned_ < pending_.size()) {
    const auto byte = static_cast<uint8_t>(pending_[scanned_]);
    if (skip_line_feed(byte, out)) {
      if (stopped_) {
        return;
      }
      continue;
    }
    if (byte == '\n') {
      note_line_feed(patterns->held(node_));
    }
    const int32_t pattern = patterns->step(node_, byte);
    ++scanned_;
    if (pattern != StopMatcher::kNoMatch) {
      on_match(pattern, scanned_ - head_ - patterns->pattern_size(pattern), out);
      if (stopped_) {
        return;
      }
      patterns = &matcher(state_);
    } else if (is_marker_byte(byte) && patterns->held(node_) == 0) {
      on_stray_marker(byte, out);
      patterns = &matcher(state_);
    }
  }
}

/// A line feed comes at `scanned_`, behind `held` bytes that may have been a beginning.
void OutputParser::note_line_feed(size_t held) {
  if (line_feeds_.end != scanned_) {
    line_feeds_ = {.begin = scanned_};
    const std::string_view before = std::string_view(pending_).substr(scanned_ - held, held);
    for (const Marker marker : {Marker::kThinkEnd, Marker::kTools}) {
      line_feeds_.first_stays[static_cast<size_t>(marker)] =
          held > 0 && ends_in_beginning(before, spellings_of(marker));
    }
  }
  line_feeds_.end = scanned_ + 1;
}

/// Hands on what can no longer be the beginning of anything.
void OutputParser::release(Out& out) {
  const size_t held = matcher(state_).held(node_);
  const size_t ready = available() - held;
  size_t n = ready;
  if (state_ == State::kReasoning && may_begin(Marker::kThinkEnd, held)) {
    n = without_line_feeds(ready, Marker::kThinkEnd);
  }
  const bool may_call =
      state_ == State::kReasoning || state_ == State::kAnswer || state_ == State::kJsonBefore;
  if (may_call && recognises_calls() && may_begin(Marker::kTools, held)) {
    n = std::min(n, without_line_feeds(ready, Marker::kTools));
  }
  take(rules_.exact_tokens || spelled_ ? n : whole_runs(n), out);
}

/// Whether the last `n` pending bytes, perhaps behind more line feeds, could become `marker`.
bool OutputParser::may_begin(Marker marker, size_t n) const {
  if (n == 0) {
    return true;
  }
  std::string_view end = std::string_view(pending_).substr(pending_.size() - n);
  end.remove_prefix(std::min(end.find_first_not_of('\n'), end.size()));
  const std::vector<std::string> spellings = spellings_of(marker);
  return std::any_of(spellings.begin(), spellings.end(), [end](const std::string& spelling) {
    return spelling.compare(0, end.size(), end) == 0;
  });
}

/// The reference holds a run of tokens as a whole while any of its text is held.
size_t OutputParser::whole_runs(size_t n) const {
  size_t whole = 0;
  for (const Span& span : spans_) {
    if (whole + span.bytes > n) {
      break;
    }
    whole += span.bytes;
  }
  return whole;
}

/// `n` pending bytes without the line feeds at their end that `marker` would take away.
size_t OutputParser::without_line_feeds(size_t n, Marker marker) const {
  const bool last = head_ + n >= line_feeds_.begin && head_ + n <= line_feeds_.end;
  const bool stays = last && line_feeds_.first_stays[static_cast<size_t>(marker)];
  const size_t least = stays ? line_feeds_.begin + 1 : head_;
  while (head_ + n > least && n > 0 && pending_[head_ + n - 1] == '\n') {
    --n;
  }
  return n;
}

/// A marker that means nothing in the present state: text, or nothing if markup is hidden.
void OutputParser::on_stray_marker(uint8_t marker, Out& out) {
  take(scanned_ - head_ - 1, out);
  drop(1);
  if (!rules_.hide_markup) {
    const bool dsml = marker == static_cast<uint8_t>(kDsmlByte);
    opaque(dsml ? kDsmlSpelling : kThinkEndSpelling, out);
  }
}

/// Text of a control token that is no marker here: it matches nothing and nothing bridges it.
void OutputParser::opaque(std::string_view spelling, Out& out) {
  take(available(), out);
  node_ = StopMatcher::kStart;
  if (!spelling.empty()) {
    skip_line_feeds_ = false;
    append(spelling, first_undecoded_ - 1, first_undecoded_);
    take(spelling.size(), out);
  }
  scanned_ = head_;
}

void OutputParser::enter(State state) {
  state_ = state;
  node_ = StopMatcher::kStart;
}

void OutputParser::on_match(int32_t pattern, size_t begin, Out& out) {
  switch (state_) {
    case State::kReasoning:
      return on_reasoning_match(pattern, begin, out);
    case State::kAnswer:
      return on_answer_match(pattern, begin, out);
    case State::kJsonBefore:
    case State::kJsonInside:
      return on_json_match(pattern, begin, out);
    default:
      return on_call_match(pattern, begin, out);
  }
}

void OutputParser::on_reasoning_match(int32_t pattern, size_t begin, Out& out) {
  if (pattern > 0) {
    return open_tools(begin, out);
  }
  take(without_line_feeds(begin, Marker::kThinkEnd), out);
  drop(scanned_ - head_);
  enter(answer_state());
  skip_line_feeds_ = true;
}

void OutputParser::on_answer_match(int32_t pattern, size_t begin, Out& out) {
  const auto num_stops = static_cast<int32_t>(options_.stop_sequences.size());
  if (pattern < num_stops) {
    return stop_here(static_cast<size_t>(pattern), begin, out);
  }
  if (pattern > num_stops) {
    return open_tools(begin, out);
  }
  // A further end of reasoning: removed, and stop sequences do not reach across it.
  take(begin, out);
  drop(scanned_ - head_);
  enter(State::kAnswer);
}

void OutputParser::on_json_match(int32_t pattern, size_t begin, Out& out) {
  const auto num_stops = static_cast<int32_t>(options_.stop_sequences.size());
  if (state_ == State::kJsonInside) {
    if (pattern < num_stops) {
      return stop_here(static_cast<size_t>(pattern), begin, out);
    }
    take(begin, out);
    drop(scanned_ - head_);
    return enter(State::kJsonAfter);
  }
  if (pattern > 4) {
    return open_tools(begin, out);
  }
  take(begin, out);
  if (pattern == 4) {  // a further end of reasoning
    drop(scanned_ - head_);
    return enter(State::kJsonBefore);
  }
  enter(State::kJsonInside);
  if (pattern < 2) {
    take(scanned_ - head_, out);  // the brace is part of the answer, the fence is not
  } else {
    drop(scanned_ - head_);
  }
}

void OutputParser::stop_here(size_t index, size_t begin, Out& out) {
  take(begin, out);
  stopped_ = true;
  stop_index_ = index;
}

void OutputParser::open_tools(size_t begin, Out& out) {
  take(without_line_feeds(begin, Marker::kTools), out);
  const bool closing = scanned_ - head_ > 1 && pending_[scanned_ - 2] == '/';
  drop(scanned_ - head_);
  skip_line_feeds_ = false;
  outer_state_ = state_;
  enter(closing ? State::kStrayTag : State::kBetweenCalls);
}

OutputParser::Span OutputParser::consume(size_t n) {
  Span taken{.bytes = n, .token_begin = tokens_taken_, .token_end = 0};
  head_ += n;
  while (n > 0) {
    Span& span = spans_.front();
    taken.token_begin = std::min(taken.token_begin, span.token_begin);
    taken.token_end = std::max(taken.token_end, span.token_end);
    const size_t used = std::min(n, span.bytes);
    span.bytes -= used;
    n -= used;
    if (span.bytes == 0) {
      spans_.pop_front();
    }
  }
  taken.token_begin = std::min(taken.token_begin, taken.token_end);
  return taken;
}

void OutputParser::drop(size_t n) {
  consume(n);
}

void OutputParser::emit(MessageDelta::Kind kind, size_t n, Out& out) {
  if (n == 0) {
    return;
  }
  std::string text = pending_.substr(head_, n);
  const Span span = consume(n);
  out.push_back({.kind = kind,
                 .text = std::move(text),
                 .token_begin = span.token_begin,
                 .token_end = span.token_end});
}

void OutputParser::take(size_t n, Out& out) {
  if (n == 0) {
    return;
  }
  switch (state_) {
    case State::kReasoning:
      if (options_.repeat_open_reasoning) {
        open_reasoning_.append(pending_, head_, n);
      }
      return emit(MessageDelta::Kind::kReasoning, n, out);
    case State::kAnswer:
    case State::kJsonInside:
      return emit(MessageDelta::Kind::kContent, n, out);
    case State::kJsonBefore:
    case State::kJsonAfter: {
      const Span span = consume(n);
      if (rules_.pad_json) {
        out.push_back({.kind = MessageDelta::Kind::kContent,
                       .text = " ",
                       .token_begin = span.token_begin,
                       .token_end = span.token_end});
      }
      return;
    }
    default:
      return take_in_call(n, out);
  }
}

}  // namespace deepinfer::recipe
