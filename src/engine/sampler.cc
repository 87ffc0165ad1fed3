#include "engine/sampler.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/philox.h"

namespace deepinfer::engine {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct RowScan {
  float max_logit = kMinusInfinity;
  bool bad = false;  // a NaN or +inf
};

// Independent lanes, because a float maximum is not reassociated by the compiler.
RowScan scan(std::span<const float> logits) {
  constexpr size_t kLanes = 8;
  float max_logit[kLanes];
  bool bad[kLanes] = {};
  std::fill_n(max_logit, kLanes, kMinusInfinity);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[i + lane];
      max_logit[lane] = logit > max_logit[lane] ? logit : max_logit[lane];
      bad[lane] |= logit != logit;
    }
  }
  RowScan result;
  for (; i < logits.size(); ++i) {
    result.max_logit = std::max(result.max_logit, logits[i]);
    result.bad |= std::isnan(logits[i]);
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    result.max_logit = std::max(result.max_logit, max_logit[lane]);
    result.bad |= bad[lane];
  }
  result.bad |= result.max_logit == std::numeric_limits<float>::infinity();
  return result;
}

// Log of the sum of exp(logits).
double log_sum_exp(std::span<const float> logits, float max_logit) {
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(logit - max_logit);
  }
  return max_logit + std::log(sum);
}

// Un-normalised probability at `temperature`; 1 for the likeliest token.
float weight(float logit, float max_logit, float temperature) {
  return std::exp((logit - max_logit) / temperature);
}

}  // namespace

bool Sampler::better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

SequenceOutput Sampler::sample(const SamplingRow& row, std::span<float> logits) {
  SequenceOutput output;
  const RowScan raw = scan(logits);
  if (raw.bad || raw.max_logit == kMinusInfinity) {
    output.error = internal_error(fmt::format(
        "the model's logits at position {} are not finite (largest: {})", row.position - 1,
        raw.bad ? std::numeric_limits<float>::quiet_NaN() : raw.max_logit));
    return output;
  }
  for (const TokenId token : row.probe_logits) {
    output.probe_logits.push_back(logits[static_cast<size_t>(token)]);
  }
  PositionLogprobs logprobs;
  if (row.params.logprobs) {
    report_top(logits, row.params.top_logprobs, logprobs);
  }
  const double normalizer = row.params.logprobs ? log_sum_exp(logits, raw.max_logit) : 0.0;

  const Result<TokenId> token = choose(row, logits, raw.max_logit);
  if (!token.has_value()) {
    output.error = token.status();
    return output;
  }
  output.tokens.push_back(*token);
  if (row.params.logprobs) {
    logprobs.chosen = {*token, static_cast<float>(raw_logit(logits, *token) - normalizer)};
    for (TokenLogprob& entry : logprobs.top) {
      entry.logprob = static_cast<float>(entry.logprob - normalizer);
    }
    output.logprobs.push_back(std::move(logprobs));
  }
  return output;
}

Result<TokenId> Sampler::choose(const SamplingRow& row, std::span<float> logits, float max_logit) {
  replaced_.clear();
  if (row.forced) {
    return *row.forced;
  }
  adjust(row, logits);
  if (row.constraint != nullptr) {
    DI_TRY(constrain(row, logits));
  }
  if (!replaced_.empty() || row.constraint != nullptr) {
    max_logit = scan(logits).max_logit;
  }
  if (max_logit == kMinusInfinity) {
    return internal_error(
        fmt::format("every token is banned at position {}: nothing to draw", row.position));
  }
  return draw(row, logits, max_logit);
}

void Sampler::adjust(const SamplingRow& row, std::span<float> logits) {
  const auto change = [&](TokenId token, float value) {
    float& logit = logits[static_cast<size_t>(token)];
    replaced_.push_back({logit, token});
    logit = value;
  };
  for (const auto& [token, bias] : row.params.logit_bias) {
    change(token, logits[static_cast<size_t>(token)] + bias);
  }
  for (const auto& [token, count] : row.generated_counts) {
    const float penalty =
        row.params.presence_penalty + row.params.frequency_penalty * static_cast<float>(count);
    change(token, logits[static_cast<size_t>(token)] - penalty);
  }
  for (const TokenId token : row.banned) {
    change(token, kMinusInfinity);
  }
}

// Forbidden tokens are not recorded as replaced: none of them is drawn, so no raw value is needed.
Status Sampler::constrain(const SamplingRow& row, std::span<float> logits) {
  mask_.resize(row.constraint->mask_words());
  DI_ASSIGN(const bool is_limited, row.constraint->fill_mask(mask_));
  if (!is_limited) {
    return Status::ok();
  }
  const auto is_allowed = [&](size_t token) {
    return token / 32 < mask_.size() && (mask_[token / 32] >> (token % 32) & 1U) != 0;
  };
  bool possible = false;
  for (size_t word = 0; word * 32 < logits.size(); ++word) {
    const size_t begin = word * 32;
    const size_t end = std::min(begin + 32, logits.size());
    const uint32_t bits = word < mask_.size() ? mask_[word] : 0;
    if (bits == 0) {
      std::fill(logits.begin() + static_cast<std::ptrdiff_t>(begin),
                logits.begin() + static_cast<std::ptrdiff_t>(end), kMinusInfinity);
      continue;
    }
    for (size_t token = begin; token < end; ++token) {
      if ((bits >> (token - begin) & 1U) == 0) {
        logits[token] = kMinusInfinity;
      }
      possible |= logits[token] != kMinusInfinity;
    }
  }
  for (size_t i = 0; !possible && i < row.banned.size(); ++i) {
    const auto token = static_cast<size_t>(row.banned[i]);
    if (is_allowed(token)) {
      logits[token] = raw_logit(logits, row.banned[i]);
    }
  }
  return Status::ok();
}

float Sampler::raw_logit(std::span<const float> logits, TokenId token) const {
  for (const Candidate& candidate : replaced_) {  // the first change saw the raw value
    if (candidate.token == token) {
      return candidate.logit;
    }
  }
  return logits[static_cast<size_t>(token)];
}

// The `count` best tokens in no particular order, the worst of them last. One pass: what cannot
// enter is dropped by a comparison, what can is collected and cut back now and then.
std::vector<Sampler::Candidate>& Sampler::best(std::span<const float> logits, size_t count) {
  count = std::min(count, logits.size());
  candidates_.clear();
  const size_t limit = 2 * count + 64;
  std::optional<Candidate> worst;
  const auto cut_back = [&] {
    const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    std::nth_element(candidates_.begin(), last, candidates_.end(), better);
    candidates_.resize(count);
    worst = candidates_.back();
  };
  for (size_t token = 0; token < logits.size(); ++token) {
    const Candidate candidate{logits[token], static_cast<TokenId>(token)};
    if (worst && !better(candidate, *worst)) {
      continue;
    }
    candidates_.push_back(candidate);
    if (candidates_.size() == limit) {
      cut_back();
    }
  }
  cut_back();
  return candidates_;
}

void Sampler::report_top(std::span<const float> logits, int32_t count, PositionLogprobs& out) {
  if (count == 0) {
    return;
  }
  std::vector<Candidate>& top = best(logits, static_cast<size_t>(count));
  std::sort(top.begin(), top.end(), better);
  for (const Candidate& candidate : top) {
    if (candidate.logit != kMinusInfinity) {
      out.top.push_back({candidate.token, candidate.logit});
    }
  }
}

TokenId Sampler::draw(const SamplingRow& row, std::span<const float> logits, float max_logit) {
  if (row.params.temperature == 0.0F) {
    const auto first = std::find(logits.begin(), logits.end(), max_logit);
    return static_cast<TokenId>(first - logits.begin());
  }
  const Cut cut = filter(row.params, logits, max_logit);
  // Kept tokens and their weights in order of ids; candidates_ lends its memory.
  candidates_.clear();
  double total = 0;
  for (size_t token = 0; token < logits.size(); ++token) {
    const Candidate candidate{logits[token], static_cast<TokenId>(token)};
    if (!better(cut, candidate)) {
      const float mass = weight(candidate.logit, max_logit, row.params.temperature);
      total += static_cast<double>(mass);
      candidates_.push_back({mass, candidate.token});
    }
  }
  double left = uniform_draw(row.seed, row.position) * total;
  TokenId last = candidates_.front().token;
  for (const Candidate& candidate : candidates_) {
    if (candidate.logit <= 0.0F) {
      continue;
    }
    last = candidate.token;
    left -= static_cast<double>(candidate.logit);
    if (left < 0) {
      break;
    }
  }
  return last;  // rounding may leave a little over: it belongs to the last possible token
}

Sampler::Cut Sampler::filter(const SamplingParams& params, std::span<const float> logits,
                             float max_logit) {
  Cut cut{kMinusInfinity, std::numeric_limits<TokenId>::max()};
  const auto vocab_size = logits.size();
  const bool use_top_k = params.top_k > 0 && static_cast<size_t>(params.top_k) < vocab_size;
  if (use_top_k) {
    cut = best(logits, static_cast<size_t>(params.top_k)).back();
  }
  if (params.top_p < 1.0F) {
    const double total = use_top_k ? candidate_mass(params.temperature, max_logit)
                                   : collect_nucleus_candidates(params, logits, max_logit);
    const double target = static_cast<double>(params.top_p) * total;
    const Cut nucleus = nucleus_cut(target, params.temperature, max_logit);
    cut = better(nucleus, cut) ? nucleus : cut;
  }
  if (params.min_p > 0.0F) {
    const float lowest = max_logit + params.temperature * std::log(params.min_p);
    const Cut likely{std::min(lowest, max_logit), std::numeric_limits<TokenId>::max()};
    cut = better(likely, cut) ? likely : cut;
  }
  return cut;
}

double Sampler::candidate_mass(float temperature, float max_logit) const {
  double mass = 0;
  for (const Candidate& candidate : candidates_) {
    mass += weight(candidate.logit, max_logit, temperature);
  }
  return mass;
}

// Tokens whose probability is below (1 - top_p) / vocab_size hold less than 1 - top_p together,
// so the nucleus lies among the others.
double Sampler::collect_nucleus_candidates(const SamplingParams& params,
                                           std::span<const float> logits, float max_logit) {
  double total = 0;
  for (const float logit : logits) {
    total += weight(logit, max_logit, params.temperature);
  }
  const double lowest_weight =
      (1.0 - static_cast<double>(params.top_p)) * total / static_cast<double>(logits.size());
  // A little lower, so that rounding can only keep more.
  const auto lowest = static_cast<float>(max_logit + static_cast<double>(params.temperature) *
                                                         (std::log(lowest_weight) - 1e-3));
  candidates_.clear();
  for (size_t token = 0; token < logits.size(); ++token) {
    if (logits[token] >= lowest || logits[token] == max_logit) {
      candidates_.push_back({logits[token], static_cast<TokenId>(token)});
    }
  }
  return total;
}

// The last member of the smallest set of best candidates that weighs `target`: a quickselect by
// mass, linear in the number of candidates.
Sampler::Cut Sampler::nucleus_cut(double target, float temperature, float max_logit) {
  auto begin = candidates_.begin();
  auto end = candidates_.end();
  double kept = 0;  // mass of everything before `begin`
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, better);
    double upper = 0;
    for (auto candidate = begin; candidate != middle; ++candidate) {
      upper += weight(candidate->logit, max_logit, temperature);
    }
    if (kept + upper >= target) {
      end = middle;
    } else {
      kept += upper;
      begin = middle;
    }
  }
  return *begin;
}

}  // namespace deepinfer::engine
