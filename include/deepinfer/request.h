#pragma once

/// What the engine is asked for and what it answers, in token ids. Text, JSON and HTTP live
/// in front of this line; tensors and batches behind it.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "deepinfer/constraint.h"
#include "deepinfer/status.h"

namespace deepinfer {

/// Ends reasoning that grows long. For prompts that end inside reasoning.
struct ThinkingLimit {
  /// >= 0 tokens of reasoning, counted from the first generated one; 0 ends it at once.
  int32_t max_tokens = 0;
  /// Ends the reasoning. Generated next, whatever the logits say, once that many tokens came
  /// without it.
  TokenId close_token = 0;
};

/// How tokens are drawn. The defaults sample from the unmodified distribution.
struct SamplingParams {
  /// [0, 100] (the HTTP interface: [0, 2]); 0 takes the most likely token (ties: smallest id).
  float temperature = 1.0F;
  /// (0, 1]: keeps the smallest set of tokens whose probability reaches this.
  float top_p = 1.0F;
  /// Keeps this many best tokens; 0 keeps all.
  int32_t top_k = 0;
  /// [0, 1]: drops tokens less likely than this times the likeliest.
  float min_p = 0.0F;
  /// [-2, 2]: subtracted from the logit of every token that was generated before.
  float presence_penalty = 0.0F;
  /// [-2, 2]: subtracted once per earlier generation of the token.
  float frequency_penalty = 0.0F;
  /// (token id, [-100, 100]) added to the logit.
  std::vector<std::pair<TokenId, float>> logit_bias;
  /// Key of the counter-based generator: same seed, same position, same draw, whatever else
  /// is in the batch. Absent: the engine picks one.
  std::optional<uint64_t> seed;
  /// Reports the log probability of each chosen token.
  bool logprobs = false;
  /// [0, 20]: also reports this many best tokens per position.
  int32_t top_logprobs = 0;
  std::optional<ThinkingLimit> thinking_limit;
};

/// One generation. Immutable once submitted.
struct GenerateRequest {
  /// For logs and traces only; need not be unique.
  std::string id;
  /// At least one token, each in [0, vocab_size).
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  /// >= 1. The context limit may end the generation earlier (finish kLength).
  int32_t max_tokens = 1;
  /// EOS and stop tokens are not sampled before this many tokens were generated.
  int32_t min_tokens = 0;
  /// Tokens that end the generation, besides the model's EOS. They are reported in the output.
  std::vector<TokenId> stop_token_ids;
  /// EOS does not end the generation (benchmarks).
  bool ignore_eos = false;
  /// What the output must look like. It goes before `min_tokens`, and excludes `ignore_eos`: the
  /// end is allowed exactly where the constraint may end.
  std::optional<ConstraintSpec> constraint;
  /// Smaller runs earlier.
  int32_t priority = 0;
  /// The request fails with kDeadlineExceeded when it is not finished by then.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// Token ids whose raw logits at the first generated position are reported (tests, tools).
  std::vector<TokenId> probe_logits;
};

/// Range checks that need no model. Names the first bad field (`param`).
Status validate(const GenerateRequest& request);

/// Why a generation ended.
enum class FinishReason {
  kStop,    ///< EOS or a stop token; it is the last token of the output.
  kLength,  ///< `max_tokens` or the end of the context.
  kAbort,   ///< Cancelled by the caller or by shutdown.
  kError,   ///< A fault; `TokenOutput::error` says which.
};

/// Log probability of one token.
struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;
};

/// Log probabilities at one generated position, after temperature 1 and before any filter.
struct PositionLogprobs {
  TokenLogprob chosen;
  /// Best first; `SamplingParams::top_logprobs` entries.
  std::vector<TokenLogprob> top;
};

/// Counts of one request, in tokens.
struct Usage {
  int32_t prompt_tokens = 0;
  /// Part of the prompt taken from the prefix cache.
  int32_t cached_tokens = 0;
  int32_t completion_tokens = 0;
};

/// Where the engine's time went, in seconds since submission. Negative: not reached.
struct RequestTimings {
  double queued_s = -1.0;
  double first_token_s = -1.0;
  double finished_s = -1.0;
};

/// What one step added to one request. A request's outputs, joined, are its generation;
/// the one with `finish` is the last.
struct TokenOutput {
  std::vector<TokenId> tokens;
  /// One per token if log probabilities were asked for, else empty.
  std::vector<PositionLogprobs> logprobs;
  /// Set on the first output if `probe_logits` was given: raw logits in the same order.
  std::vector<float> probe_logits;
  std::optional<FinishReason> finish;
  /// Set when `finish` is kError.
  Status error;
  Usage usage;
  RequestTimings timings;
};

}  // namespace deepinfer
