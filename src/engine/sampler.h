#pragma once

/// Turns one row of logits into the next token.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/batch.h"

namespace deepinfer::engine {

/// Draws tokens. Holds work space only, so any number of samplers give the same tokens; each is
/// used by one thread at a time.
///
/// Order of application:
/// 1. probed logits and log probabilities are read from the raw logits (log-softmax at
///    temperature 1; tokens whose logit is -inf are left out of `top`);
/// 2. logit bias is added, then presence and frequency penalties are subtracted, then banned
///    tokens and those the constraint forbids get -inf; a ban that leaves a constraint no token
///    at all is lifted;
/// 3. temperature 0 takes the largest logit, ties to the smaller id. Otherwise the logits are
///    divided by the temperature and top-k, top-p (over what top-k kept) and min-p (relative
///    to the likeliest token) each cut the tail of the order "larger logit first, then smaller
///    id". The likeliest token always stays;
///    A forced token is taken as it is, after step 1;
/// 4. one uniform number of (seed, position) picks from what is left, in order of token ids.
class Sampler {
 public:
  /// `logits` [vocab_size] is scratch afterwards. `output.error` is set, and no token returned,
  /// when the row holds a NaN or +inf, or nothing can be drawn. `output.id` is left alone.
  /// Every token id of `row` must be in [0, vocab_size).
  SequenceOutput sample(const SamplingRow& row, std::span<float> logits);

 private:
  struct Candidate {
    float logit;
    TokenId token;
  };
  /// Tokens at or above this place of the order are kept.
  using Cut = Candidate;

  static bool better(const Candidate& a, const Candidate& b);
  Result<TokenId> choose(const SamplingRow& row, std::span<float> logits, float max_logit);
  void adjust(const SamplingRow& row, std::span<float> logits);
  Status constrain(const SamplingRow& row, std::span<float> logits);
  float raw_logit(std::span<const float> logits, TokenId token) const;
  std::vector<Candidate>& best(std::span<const float> logits, size_t count);
  void report_top(std::span<const float> logits, int32_t count, PositionLogprobs& out);
  TokenId draw(const SamplingRow& row, std::span<const float> logits, float max_logit);
  Cut filter(const SamplingParams& params, std::span<const float> logits, float max_logit);
  double candidate_mass(float temperature, float max_logit) const;
  double collect_nucleus_candidates(const SamplingParams& params, std::span<const float> logits,
                                    float max_logit);
  Cut nucleus_cut(double target, float temperature, float max_logit);

  std::vector<Candidate> candidates_;
  /// Raw values of the logits that `adjust` changed.
  std::vector<Candidate> replaced_;
  std::vector<uint32_t> mask_;
};

}  // namespace deepinfer::engine
