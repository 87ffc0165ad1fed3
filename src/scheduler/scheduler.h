#pragma once

/// What runs in each step of one rank: pure policy, no threads, tensors or clock of its own.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "deepinfer/config.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "engine/batch.h"
#include "engine/executor.h"
#include "scheduler/block_manager.h"
#include "scheduler/sequence.h"

namespace deepinfer::scheduler {

/// What a step, a cancellation or a deadline added to one request.
struct RequestOutput {
  SequenceId id = 0;
  TokenOutput output;
};

/// A request that left the queue for the first time.
struct Dequeued {
  int32_t prompt_tokens = 0;
  /// False when it ended without having run.
  bool started = false;
};

/// Longest sequence (prompt and output) that `capacity` can hold at all: its context limit, or
/// what all its blocks together hold.
int32_t longest_sequence(const engine::ExecutorCapacity& capacity);

/// Everything submitted to a rank and not finished, and which part of it runs next.
///
/// Order of service: smaller `priority` first, then earlier arrival (`ServedBefore`).
///
/// Each step is mixed. Running sequences decode first, in order of service; then prompts share
/// what is left of `max_num_batched_tokens` by deficit round robin, smallest priority value
/// first, so a short prompt is not stuck behind a long one. A sequence gets the blocks of all
/// its known tokens when it starts, and one more whenever its generation fills the last. When
/// none is free, the running sequence that is last in order of service goes back to the queue
/// and is later computed again from its prompt and what it had generated: nothing is emitted
/// twice, and draws keep their positions.
///
/// Rank thread only. Costs of `schedule` and `update` are linear in the sequences of the step.
class Scheduler {
 public:
  Scheduler(const SchedulerConfig& config, const engine::ExecutorCapacity& capacity);
  ~Scheduler();

  /// Queues a request that was validated against the model. `id` is larger than every earlier
  /// one. `constraint` is the compiled form of the request's, if it has one. kInvalidArgument
  /// (reason `context_length_exceeded`) if prompt and one token can never fit.
  Status add(SequenceId id, GenerateRequest request, uint64_t seed, base::TimePoint submitted,
             const std::optional<constraint::CompiledConstraint>& constraint = std::nullopt);

  /// Ends a request with kAbort: at once, or when the step that computes it returns. An id
  /// that is not known (any more) is ignored.
  void abort(SequenceId id, base::TimePoint now);
  void abort_all(base::TimePoint now);
  /// Ends everything with kError after a fault of the engine; nothing is in flight any more.
  void fail_all(const Status& error, base::TimePoint now);

  /// Plans the next step. Requests past their deadline end here. Empty if there is no work; an
  /// empty step has no `update`.
  engine::Batch schedule(base::TimePoint now);

  /// Takes in the results of the oldest planned step. kInternal if they do not match it.
  Status update(const engine::StepOutput& output, base::TimePoint now);

  /// What happened to requests since the last call, in order. After its output with `finish`
  /// a request is forgotten and its blocks and slot are free.
  std::vector<RequestOutput> take_outputs();

  /// Requests that left the queue for the first time since the last call. A preempted request
  /// that waits again has left it.
  std::vector<Dequeued> take_dequeued();

  bool has_work() const { return !sequences_.empty(); }
  int32_t num_running() const { return static_cast<int32_t>(running_.size()); }
  int32_t num_waiting() const { return static_cast<int32_t>(waiting_.size()); }
  int32_t num_free_slots() const { return static_cast<int32_t>(free_slots_.size()); }
  uint64_t num_preemptions() const { return num_preemptions_; }
  const BlockManager& blocks() const { return blocks_; }

 private:
  struct PlannedSequence {
    SequenceId id;
    int32_t num_tokens;
    bool samples;
  };
  struct PlannedStep {
    uint64_t step = 0;
    std::vector<PlannedSequence> sequences;
  };

  // Planning.
  void expire(base::TimePoint now);
  void plan_decodes(engine::Batch& batch);
  bool make_room(Sequence& sequence);
  void start_waiting(base::TimePoint now);
  bool fits_now(const Sequence& sequence) const;
  void plan_prompts(engine::Batch& batch);
  void share_budget(std::deque<Sequence*>& prompts, engine::Batch& batch);
  void plan(Sequence& sequence, int32_t num_tokens, engine::Batch& batch);
  engine::SamplingRow sampling_row(Sequence& sequence) const;

  // Results.
  Status take_in(const PlannedSequence& planned, const engine::SequenceOutput* result,
                 base::TimePoint now);
  void append(Sequence& sequence, const engine::SequenceOutput& result, base::TimePoint now);
  static void constrain(Sequence& sequence, engine::SamplingRow& row);

  // Leaving.
  void leave(Sequence& sequence, FinishReason reason, const Status& error, base::TimePoint now);
  void finish(Sequence& sequence, TokenOutput output, base::TimePoint now);
  void emit(Sequence& sequence, TokenOutput output, base::TimePoint now);
  void preempt(Sequence& sequence);
  void stop_running(Sequence& sequence);
  void stop_prefilling(Sequence& sequence);

  const SchedulerConfig config_;
  const engine::ExecutorCapacity capacity_;
  const int32_t max_running_;
  const int32_t quantum_;

  BlockManager blocks_;
  std::vector<int32_t> free_slots_;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::set<Sequence*, ServedBefore> waiting_;
  std::set<Sequence*, ServedBefore> running_;
  /// Running sequences with more than their next token to compute, by priority; the front of a
  /// class has its turn.
  std::map<int32_t, std::deque<Sequence*>> prefilling_;
  std::set<std::pair<base::TimePoint, SequenceId>> deadlines_;
  /// Steps planned and not yet updated, oldest first.
  std::deque<PlannedStep> planned_steps_;
  int32_t budget_ = 0;  // tokens left in the step that is being planned
  uint64_t num_steps_ = 0;
  uint64_t num_preemptions_ = 0;
  std::vector<RequestOutput> outputs_;
  std::vector<Dequeued> dequeued_;
};

}  // namespace deepinfer::scheduler
