#pragma once

/// What the scheduler hands to the engine for one step, and what comes back.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "constraint/constraint.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer::engine {

/// Names a sequence between scheduler and engine; never reused within a process.
using SequenceId = uint64_t;

/// Draws the next token of a sequence from the last row of its part of the step.
struct SamplingRow {
  SamplingParams params;
  /// Key of the random draw: (seed, position of the drawn token).
  uint64_t seed = 0;
  int32_t position = 0;
  /// Tokens that must not be drawn now (EOS and stop tokens before `min_tokens`).
  std::vector<TokenId> banned;
  /// Says which tokens may come; absent while nothing is constrained. It belongs to the sequence,
  /// which outlives the step.
  constraint::ConstraintState* constraint = nullptr;
  /// Taken instead of a draw, even if it is banned.
  std::optional<TokenId> forced;
  /// (token, times generated so far); filled only when a penalty is set.
  std::vector<std::pair<TokenId, int32_t>> generated_counts;
  /// Raw logits to report.
  std::vector<TokenId> probe_logits;
};

/// One sequence's part of the step.
struct BatchSequence {
  SequenceId id = 0;
  int32_t state_slot = 0;
  /// Position of the first of `tokens`; 0 starts from an empty state.
  int32_t start_position = 0;
  std::vector<TokenId> tokens;
  std::vector<int32_t> block_table;
  /// Absent for a prompt chunk that is not the last one.
  std::optional<SamplingRow> sampling;
};

/// One step. May be empty: idle ranks take part in every collective.
struct Batch {
  uint64_t step = 0;
  std::vector<BatchSequence> sequences;

  int32_t num_tokens() const;
};

/// What a step produced for one sequence that sampled.
struct SequenceOutput {
  SequenceId id = 0;
  /// One token; more once drafts are verified.
  std::vector<TokenId> tokens;
  std::vector<PositionLogprobs> logprobs;
  std::vector<float> probe_logits;
  /// A fault of this sequence alone (its logits are not finite); then `tokens` is empty and the
  /// other sequences of the step are sound.
  Status error;
};

struct StepOutput {
  uint64_t step = 0;
  /// In the order of the batch; only sequences with `sampling`.
  std::vector<SequenceOutput> sequences;
};

}  // namespace deepinfer::engine
