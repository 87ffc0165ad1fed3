#pragma once

/// Model output → reasoning, answer and tool calls (recipe spec §7). Works on token ids first:
/// a marker counts only as its control token, so text that merely spells one stays text.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/chat.h"
#include "recipe/detokenizer.h"
#include "recipe/recipe.h"
#include "recipe/stop_matcher.h"

namespace deepinfer::recipe {

/// Where a parser goes beyond the reference grammar. The defaults follow the reference.
struct OutputRules {
  /// Control tokens never show as text: a stray one is left out, a bare DSML opens the tool
  /// state, and markup is recognised (and then dropped) even when no tools are in use.
  bool hide_markup = false;
  /// `string="false"` values must be JSON, else they become strings; keys are escaped; a
  /// missing attribute is tolerated; any markup ends a value.
  bool typed_arguments = false;
  /// Text around a JSON answer becomes spaces; otherwise it is dropped.
  bool pad_json = true;
  /// A delta names only the tokens whose text is in it; otherwise all of the run of ordinary
  /// tokens that arrived together.
  bool exact_tokens = false;
};

/// One piece of a message, in order.
struct MessageDelta {
  enum class Kind { kReasoning, kContent, kCallBegin, kCallArguments, kCallEnd };
  Kind kind = Kind::kContent;
  /// Index of the tool call, for the three call kinds.
  int32_t call_index = 0;
  /// The text; the function's name for kCallBegin; empty for kCallEnd.
  std::string text;
  /// Tokens whose text is in this piece, also partly: positions in the order they were pushed.
  /// Empty for text without tokens.
  uint32_t token_begin = 0;
  uint32_t token_end = 0;
};

/// One output stream. One thread.
class OutputParser {
 public:
  /// `tokenizer` may be null if only text is pushed. `control` ids below 0 do not exist.
  OutputParser(const Tokenizer* tokenizer, const ControlTokens& control,
               const ParsingOptions& options, const OutputRules& rules);

  /// Appends what `ids` release to `out`. Nothing after a stop sequence is taken.
  void push_tokens(std::span<const TokenId> ids, std::vector<MessageDelta>& out);
  /// Text of a backend that does not speak tokens: markers count by their spelling.
  void push_text(std::string_view text, std::vector<MessageDelta>& out);
  /// End of the output: releases everything held back. With `flush_partial_character`, bytes
  /// of an unfinished character come out as U+FFFD, otherwise they are dropped.
  void finish(bool flush_partial_character, std::vector<MessageDelta>& out);
  /// Behind `finish`, when the model ended by itself: see `repeat_open_reasoning`.
  void repeat_open_reasoning(std::vector<MessageDelta>& out);

  /// True once a stop sequence matched or the only call allowed is whole: nothing more is taken.
  bool stopped() const { return stopped_; }
  /// The stop sequence that matched, if that ended the output.
  std::optional<std::string_view> stop_sequence() const {
    return stop_index_ ? std::optional<std::string_view>(options_.stop_sequences[*stop_index_])
                       : std::nullopt;
  }
  /// Calls that began; the last may be unfinished.
  int32_t calls_begun() const { return calls_begun_; }
  /// Tokens taken so far, up to the one that completed a stop sequence.
  uint32_t tokens_taken() const { return tokens_taken_; }
  /// The same without those whose text still waits for the rest of a character.
  uint32_t tokens_decoded() const { return first_undecoded_; }
  /// Tokens that arrived while reasoning, markers apart.
  uint32_t reasoning_tokens() const { return reasoning_tokens_; }
  /// Values announced as JSON that were not.
  uint32_t invalid_values() const { return invalid_values_; }

 private:
  enum class State : uint8_t {
    kReasoning,
    kAnswer,
    kJsonBefore,
    kJsonInside,
    kJsonAfter,
    kStrayTag,  ///< in a closing tag that closes nothing, to its `>` or the line's end
    kBetweenCalls,
    kCallName,
    kInCall,
    kKey,
    kAttribute,
    kStringValue,
    kRawValue,
    kDone,
  };
  static constexpr size_t kNumStates = static_cast<size_t>(State::kDone) + 1;

  /// A stretch of `pending_` that came from these tokens.
  struct Span {
    size_t bytes = 0;
    uint32_t token_begin = 0;
    uint32_t token_end = 0;
  };
  using Out = std::vector<MessageDelta>;

  /// What takes the line feeds in front of it away.
  enum class Marker : uint8_t { kThinkEnd, kTools };

  /// The last stretch of line feeds that was scanned: positions in `pending_`.
  struct LineFeeds {
    size_t begin = 0;
    size_t end = 0;
    /// The first one ended what had begun like this marker, and stays in front of it: the
    /// reference's matcher does not look at it a second time.
    std::array<bool, 2> first_stays = {};
  };

  const StopMatcher& matcher(State state);
  std::vector<std::string> patterns_of(State state) const;
  std::vector<std::string> spellings_of(Marker marker) const;
  void note_line_feed(size_t held);
  bool may_begin(Marker marker, size_t n) const;

  size_t ordinary_run(std::span<const TokenId> ids) const;
  void push_run(std::span<const TokenId> ids, Out& out);
  void push_special(TokenId id, Out& out);
  void append(std::string_view text, uint32_t token_begin, uint32_t token_end);
  void append_ordinary(std::string_view text, uint32_t token_begin, uint32_t token_end);
  bool ends_in_tag_and_bar(std::string_view text) const;
  void give_back_bar();
  void scan(Out& out);
  void release(Out& out);
  void opaque(std::string_view spelling, Out& out);
  void enter(State state);
  void on_stray_marker(uint8_t marker, Out& out);
  bool skip_line_feed(uint8_t byte, Out& out);

  /// What a completed pattern means in the present state. `begin` is the number of pending
  /// bytes before it; the match ends at `scanned_`.
  void on_match(int32_t pattern, size_t begin, Out& out);
  void on_reasoning_match(int32_t pattern, size_t begin, Out& out);
  void on_answer_match(int32_t pattern, size_t begin, Out& out);
  void on_json_match(int32_t pattern, size_t begin, Out& out);
  void on_call_match(int32_t pattern, size_t begin, Out& out);
  /// Ends the stream at stop sequence `index`, which begins after `begin` pending bytes.
  void stop_here(size_t index, size_t begin, Out& out);
  void open_tools(size_t begin, Out& out);
  bool recognises_calls() const { return options_.parse_tool_calls || rules_.hide_markup; }
  State answer_state() const;

  // Tool calls (output_parser_calls.cc).
  void on_between_calls_match(int32_t pattern);
  void on_name_match(int32_t pattern, Out& out);
  void on_in_call_match(int32_t pattern, const Span& marker, Out& out);
  void on_key_match(int32_t pattern, const Span& marker, Out& out);
  void on_value_match(const Span& marker, Out& out);
  void end_call(const Span& marker, Out& out);
  void take_in_call(size_t n, Out& out);
  void call_delta(MessageDelta::Kind kind, std::string text, const Span& tokens, Out& out);

  size_t available() const { return pending_.size() - head_; }
  /// Takes `n` bytes off the front of the pending text in the way of the present state.
  void take(size_t n, Out& out);
  void drop(size_t n);
  void emit(MessageDelta::Kind kind, size_t n, Out& out);
  Span consume(size_t n);
  size_t without_line_feeds(size_t n, Marker marker) const;
  size_t whole_runs(size_t n) const;

  const Tokenizer* tokenizer_;
  const ControlTokens control_;
  const ParsingOptions options_;
  const OutputRules rules_;
  std::unique_ptr<IncrementalDetokenizer> detokenizer_;
  std::array<std::unique_ptr<StopMatcher>, 2 * kNumStates> matchers_;

  State state_ = State::kAnswer;
  /// Where the text goes on after a stray tag.
  State outer_state_ = State::kAnswer;
  /// Markers are looked for by spelling (text) instead of by marker bytes (tokens).
  bool spelled_ = false;
  bool skip_line_feeds_ = false;
  bool stopped_ = false;
  std::optional<size_t> stop_index_;

  /// Text not handed on yet begins at `head_`; the matcher has seen it up to `scanned_`.
  std::string pending_;
  size_t head_ = 0;
  size_t scanned_ = 0;
  int32_t node_ = StopMatcher::kStart;
  LineFeeds line_feeds_;
  std::deque<Span> spans_;
  /// A bar behind `<` or `</`, until the next token shows whether DSML follows.
  std::optional<Span> held_bar_;
  bool behind_dsml_ = false;
  /// All of it so far, if it may have to be repeated.
  std::string open_reasoning_;
  uint32_t tokens_taken_ = 0;
  /// First token whose text has not come out of the detokenizer yet.
  uint32_t first_undecoded_ = 0;
  uint32_t reasoning_tokens_ = 0;

  int32_t calls_begun_ = 0;
  /// Parameters of the open call.
  int32_t parameters_ = 0;
  /// Name, tag or raw value being collected.
  std::string collected_;
  bool typed_as_string_ = false;
  bool counts_as_invalid_ = false;
  uint32_t invalid_values_ = 0;
};

}  // namespace deepinfer::recipe
