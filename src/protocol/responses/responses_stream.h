#pragma once

/// One response: feeds the output parser, accumulates the items and says which events to send
/// (recipe spec §10, "Events").

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "protocol/completion.h"
#include "protocol/logprobs_json.h"
#include "protocol/recipe_policy.h"
#include "protocol/responses/response_writer.h"
#include "protocol/responses/tool_names.h"
#include "recipe/output_parser.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// One thread.
class ResponsesStream {
 public:
  struct Settings {
    bool thinking = false;
    CallNames names;
    recipe::ParsingOptions parsing;
    recipe::ControlTokens control;
    RecipePolicy policy;
  };
  /// `tokenizer` may be null if only text arrives; it must outlive the stream.
  ResponsesStream(const Settings& settings, ResponseWriter writer,
                  const recipe::Tokenizer* tokenizer);

  /// Sends what opens the response. Once; later calls do nothing.
  void open(std::vector<Event>& events);
  /// Takes tokens; `logprobs` is empty or has one entry per token. Stops at a stop sequence.
  void push_tokens(std::span<const TokenId> tokens, std::span<const PositionLogprobs> logprobs,
                   std::vector<Event>& events);
  /// Text of a backend without tokens, standing for `num_tokens` of them.
  void push_text(std::string_view text, uint64_t num_tokens, std::vector<Event>& events);
  /// Counts a token that ends the generation and is not text.
  void count_end_token() { ++other_tokens_; }
  /// Releases what is held back at the end of the output, before `finish`.
  void flush(std::vector<Event>& events);
  /// Ends the response: `reason` is the backend's `stop`, `length` or `content_filter`, or
  /// empty if the output just ended. Counts of the output are filled in here.
  void finish(std::string_view reason, ResponsesUsage prompt, std::vector<Event>& events);
  /// Ends a stream that failed; `error_body` is that of a plain answer.
  void fail(std::string_view error_body, std::vector<Event>& events);

  bool done() const { return state_.completed != 0; }
  /// A stop sequence matched; `finish` is still to be called.
  bool stopped() const { return parser_.stopped(); }
  uint32_t invalid_arguments() const { return parser_.invalid_values(); }
  /// The whole answer.
  std::string response() const { return writer_.response(state_, items_); }

 private:
  void take(std::vector<Event>& events);
  void take_one(recipe::MessageDelta& delta, std::vector<Event>& events);
  void take_text(OutputItem::Kind kind, const recipe::MessageDelta& delta,
                 std::vector<Event>& events);
  void take_arguments(std::string_view arguments, std::vector<Event>& events);
  void begin_call(std::string name, int32_t index, std::vector<Event>& events);
  void begin_item(OutputItem item, std::vector<Event>& events);
  /// `cut` says that the output ended before its time.
  void end_item(bool cut, std::vector<Event>& events);
  OutputItem::Status end_status(OutputItem& item, bool cut) const;
  bool has_thought() const;
  ResponsesUsage full_usage(ResponsesUsage prompt) const;

  const Settings settings_;
  const recipe::Tokenizer* tokenizer_;
  ResponseWriter writer_;
  recipe::OutputParser parser_;
  LogprobFeed logprobs_;
  std::vector<recipe::MessageDelta> deltas_;
  std::vector<OutputItem> items_;
  /// The last item takes more.
  bool item_open_ = false;
  bool opened_ = false;
  ResponsesState state_;
  /// Tokens the parser did not see.
  uint64_t other_tokens_ = 0;
};

}  // namespace deepinfer::protocol
