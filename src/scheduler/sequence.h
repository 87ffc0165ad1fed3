#pragma once

/// A request's mutable state, from submission to its last token.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "constraint/constraint.h"
#include "deepinfer/request.h"
#include "engine/batch.h"

namespace deepinfer::scheduler {

using engine::SequenceId;

/// One sequence. Owned by its rank's `Scheduler`; rank thread only.
///
/// Tokens go through three counts: known (prompt and generated), scheduled (given to a step)
/// and computed (their step is done): computed <= scheduled <= known. Scheduled minus computed
/// is in flight; blocks and slot are not given back while that is not zero.
struct Sequence {
  Sequence(SequenceId new_id, GenerateRequest submitted_request, uint64_t draw_seed,
           base::TimePoint submitted_at)
      : id(new_id),
        request(std::move(submitted_request)),
        seed(draw_seed),
        submitted(submitted_at) {}

  // ---- Constant after Scheduler::add.
  const SequenceId id;
  const GenerateRequest request;
  const uint64_t seed;
  const base::TimePoint submitted;
  /// Known tokens at which the generation ends for lack of room or of `max_tokens`.
  int32_t max_known_tokens = 0;
  /// EOS (unless ignored) and stop tokens, sorted.
  std::vector<TokenId> end_tokens;

  // ---- Written by Scheduler::schedule and abort.
  /// Has a slot and blocks; else it waits.
  bool running = false;
  /// In the list of sequences whose prompt is still being run.
  bool prefilling = false;
  /// Set when it was ended while in flight: it is not planned any more and leaves, for this
  /// reason, when its step returns.
  std::optional<FinishReason> leaving;
  Status leaving_error;
  int32_t slot = -1;
  std::vector<int32_t> blocks;
  int32_t num_scheduled = 0;
  /// Prompt tokens that its turn may still take (deficit round robin).
  int32_t deficit = 0;
  /// Prompt tokens given to it in the step that is being planned.
  int32_t granted = 0;
  double queued_s = -1.0;

  // ---- Written by Scheduler::update.
  std::vector<TokenId> generated;
  int32_t num_computed = 0;
  /// How often each token was generated; kept only if a penalty needs it.
  std::map<TokenId, int32_t> generated_counts;
  /// Where `generated` stands in the request's constraint; absent without one.
  std::optional<constraint::ConstraintState> constraint;
  /// The token that ends the reasoning was generated; kept only if a limit needs it.
  bool thinking_closed = false;
  double first_token_s = -1.0;

  int32_t num_prompt() const { return static_cast<int32_t>(request.prompt.size()); }
  int32_t num_generated() const { return static_cast<int32_t>(generated.size()); }
  int32_t num_known() const { return num_prompt() + num_generated(); }
  int32_t num_in_flight() const { return num_scheduled - num_computed; }
  int32_t num_unscheduled() const { return num_known() - num_scheduled; }

  TokenId token_at(int32_t position) const {
    return position < num_prompt() ? request.prompt[static_cast<size_t>(position)]
                                   : generated[static_cast<size_t>(position - num_prompt())];
  }
  bool ends_at(TokenId token) const {
    return std::binary_search(end_tokens.begin(), end_tokens.end(), token);
  }
  /// What has to come next because the reasoning reached its limit.
  std::optional<TokenId> forced_token() const {
    const auto& limit = request.sampling.thinking_limit;
    const bool due = limit && !thinking_closed && num_generated() >= limit->max_tokens;
    return due ? std::optional(limit->close_token) : std::nullopt;
  }
  bool has_penalty() const {
    return request.sampling.presence_penalty != 0.0F || request.sampling.frequency_penalty != 0.0F;
  }
};

/// Order of service: smaller priority value, then earlier arrival (ids grow with arrival).
struct ServedBefore {
  bool operator()(const Sequence* a, const Sequence* b) const {
    return a->request.priority != b->request.priority ? a->request.priority < b->request.priority
                                                      : a->id < b->id;
  }
};

}  // namespace deepinfer::scheduler
