#pragma once

/// Runs many generations through one `Llm`, as many at a time as it admits.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "deepinfer/llm.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {

/// A finished generation: its outputs joined.
struct Generation {
  std::vector<TokenId> tokens;
  /// (token, raw logit at the first generated position), in the order of `probe_logits`.
  std::vector<std::pair<TokenId, float>> probe_logits;
  FinishReason finish = FinishReason::kStop;
  Usage usage;
};

/// What came of a request: its generation, or why there is none.
using Outcome = Result<Generation>;

/// How far a batch has come.
struct BatchProgress {
  int64_t requests_total = 0;
  int64_t requests_done = 0;
  int64_t tokens_generated = 0;
};

struct BatchCallbacks {
  /// Called once per request, in the order of the requests.
  std::function<void(size_t index, const Outcome& outcome)> on_outcome;
  /// Called whenever something arrived.
  std::function<void(const BatchProgress& progress)> on_progress;
};

/// Runs all `requests` (a failed one is its own outcome) with at most `max_in_flight` submitted
/// at a time. A request that the engine refuses because it is full waits until another one has
/// finished. Returns when every outcome was handed out. Both callbacks run on the calling thread.
void run_batch(Llm& llm, std::vector<Result<GenerateRequest>> requests, int32_t max_in_flight,
               const BatchCallbacks& callbacks);

}  // namespace deepinfer::cli
