#pragma once

/// One Messages answer: feeds the output parser, accumulates the blocks and says which events
/// to send (recipe spec §9, "Events").

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "protocol/completion.h"
#include "protocol/messages/messages_events.h"
#include "protocol/recipe_policy.h"
#include "recipe/output_parser.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// One thread.
class MessagesStream {
 public:
  struct Settings {
    MessagesEnvelope envelope;
    recipe::ParsingOptions parsing;
    recipe::ControlTokens control;
    RecipePolicy policy;
  };
  /// `tokenizer` may be null if only text arrives; it must outlive the stream.
  MessagesStream(const Settings& settings, const recipe::Tokenizer* tokenizer);

  /// Sends what opens the message. Once; later calls do nothing.
  void open(const MessagesUsage& prompt, std::vector<Event>& events);
  /// Takes tokens. Stops at a stop sequence: what follows is neither sent nor, under the
  /// server's policy, counted.
  void push_tokens(std::span<const TokenId> tokens, std::vector<Event>& events);
  /// Text of a backend without tokens, standing for `num_tokens` of them.
  void push_text(std::string_view text, uint64_t num_tokens, std::vector<Event>& events);
  /// Counts a token that ends the generation and is not text.
  void count_end_token() { ++other_tokens_; }
  /// Releases what is held back at the end of the output, before `finish`.
  void flush(std::vector<Event>& events);
  /// Ends the message: `reason` is the backend's `stop`, `length` or `content_filter`, or
  /// empty if the output just ended.
  void finish(std::string_view reason, const MessagesUsage& usage, std::vector<Event>& events);

  bool opened() const { return opened_; }
  bool done() const { return !stop_.reason.empty(); }
  /// A stop sequence matched; `finish` is still to be called.
  bool stopped() const { return parser_.stopped(); }
  uint32_t invalid_arguments() const { return parser_.invalid_values(); }
  uint64_t completion_tokens() const;
  /// The whole answer.
  std::string response(const MessagesUsage& usage) const;
  const MessagesWriter& writer() const { return writer_; }

 private:
  void take(std::vector<Event>& events);
  void take_one(recipe::MessageDelta& delta, std::vector<Event>& events);
  void begin_block(AnswerBlock block, std::vector<Event>& events);
  void end_block(std::vector<Event>& events);
  std::string_view stop_reason(std::string_view reason) const;

  const Settings settings_;
  const MessagesWriter writer_;
  recipe::OutputParser parser_;
  std::vector<recipe::MessageDelta> deltas_;
  std::vector<AnswerBlock> blocks_;
  /// The last block takes more.
  bool block_open_ = false;
  bool opened_ = false;
  bool has_thought_ = false;
  StopInfo stop_;
  /// Tokens the parser did not see.
  uint64_t other_tokens_ = 0;
};

}  // namespace deepinfer::protocol
