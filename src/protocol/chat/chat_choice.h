#pragma once

/// One choice of a chat completion: feeds the output parser, accumulates the message and says
/// which chunks to send.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/chat/chat_chunks.h"
#include "protocol/logprobs_json.h"
#include "protocol/recipe_policy.h"
#include "recipe/output_parser.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// One thread.
class ChatChoice {
 public:
  struct Settings {
    int32_t index = 0;
    bool thinking = false;
    /// Chunks are built; otherwise only the message is accumulated.
    bool streams = true;
    recipe::ParsingOptions parsing;
    recipe::ControlTokens control;
    RecipePolicy policy;
  };
  /// `tokenizer` may be null if only text arrives; it must outlive the choice.
  ChatChoice(const Settings& settings, const recipe::Tokenizer* tokenizer);

  /// Sends the opening chunk of policies that have one. Once; later calls do nothing.
  void open(const ChunkWriter& writer, std::vector<std::string>& chunks);
  /// Takes tokens; `logprobs` is empty or has one entry per token. Stops at a stop sequence:
  /// what follows is neither sent nor, under the server's policy, counted.
  void push_tokens(std::span<const TokenId> tokens, std::span<const PositionLogprobs> logprobs,
                   const ChunkWriter& writer, std::vector<std::string>& chunks);
  /// Text of a backend without tokens, standing for `num_tokens` of them.
  void push_text(std::string_view text, uint64_t num_tokens, const ChunkWriter& writer,
                 std::vector<std::string>& chunks);
  /// Counts a token that ends the generation and is not text.
  void count_end_token() { ++other_tokens_; }
  /// Ends the message: `reason` is `stop`, `length` or `content_filter`, or empty if the output
  /// just ended. `usage` goes into the finish chunk.
  void finish(std::string_view reason, const ChunkWriter& writer, const ChatUsage* usage,
              std::vector<std::string>& chunks);
  /// Releases what is held back at the end of the output, before `finish`.
  void flush(const ChunkWriter& writer, std::vector<std::string>& chunks);

  bool done() const { return !message_.finish_reason.empty(); }
  /// A stop sequence or the only call ended the output; `finish` is still to be called.
  bool stopped() const { return parser_.stopped(); }
  uint32_t invalid_arguments() const { return parser_.invalid_values(); }
  const ChatMessageText& message() const { return message_; }
  uint64_t completion_tokens() const;
  /// Absent where reasoning is not counted.
  std::optional<uint64_t> reasoning_tokens() const;

 private:
  void take(const ChunkWriter& writer, std::vector<std::string>& chunks);
  void take_one(recipe::MessageDelta& delta, const ChunkWriter& writer,
                std::vector<std::string>& chunks);
  std::string logprob_entries(const recipe::MessageDelta& delta);
  std::string_view finish_reason(std::string_view reason) const;

  const Settings settings_;
  const recipe::Tokenizer* tokenizer_;
  recipe::OutputParser parser_;
  ChatMessageText message_;
  std::vector<recipe::MessageDelta> deltas_;
  LogprobFeed logprobs_;
  /// Tokens the parser did not see.
  uint64_t other_tokens_ = 0;
  bool opened_ = false;
};

}  // namespace deepinfer::protocol
