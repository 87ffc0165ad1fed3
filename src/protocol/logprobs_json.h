#pragma once

/// Log probabilities as Chat Completions writes them (recipe spec §8).

#include <span>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "recipe/output_parser.h"
#include "recipe/tokenizer.h"

namespace deepinfer::protocol {

/// What stands for an impossible token's log probability, which JSON has no number for.
enum class Infinity { kNull, kFinite };

/// Written for minus infinity and NaN under Infinity::kFinite.
inline constexpr float kLowestLogprob = -9999.0F;

/// Appends a log probability as a number, or null.
void append_logprob(float value, Infinity infinity, std::string& out);

/// Appends `{"token", "logprob", "bytes", "top_logprobs": [...]}`.
void append_logprob_entry(const PositionLogprobs& position, const recipe::Tokenizer& tokenizer,
                          Infinity infinity, std::string& out);

/// The log probabilities of one output, handed out with the text they belong to.
class LogprobFeed {
 public:
  /// With `once`, a token whose text is cut into several pieces is listed with the first only.
  /// `tokenizer` may be null if none ever come.
  LogprobFeed(const recipe::Tokenizer* tokenizer, bool once) : tokenizer_(tokenizer), once_(once) {}

  /// Of the next tokens.
  void add(std::span<const PositionLogprobs> logprobs);
  /// Entries of the tokens in this piece, comma separated.
  std::string entries(const recipe::MessageDelta& delta);

 private:
  const recipe::Tokenizer* tokenizer_;
  const bool once_;
  std::vector<PositionLogprobs> logprobs_;
  uint32_t sent_ = 0;
};

}  // namespace deepinfer::protocol
