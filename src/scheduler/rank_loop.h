#pragma once

/// One DP rank at work: its thread, its scheduler, its executor.

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/output_queue.h"
#include "base/thread.h"
#include "comm/communicator.h"
#include "deepinfer/config.h"
#include "engine/executor.h"
#include "scheduler/admission.h"
#include "scheduler/rank_inbox.h"
#include "scheduler/scheduler.h"

namespace deepinfer::scheduler {

/// What a rank has done, for readers on other threads. Counters only grow. Once a rank is idle:
/// prompt_tokens is the sum of `Usage::prompt_tokens` over the requests that have run (computing
/// a preempted request again counts nothing), generation_tokens the sum of
/// `Usage::completion_tokens` over all (abandoned_tokens of them came after their client had left:
/// at most one step per cancel), and every admitted request is in exactly one of the
/// finished counters.
struct RankMetrics {
  base::Counter steps;
  base::Counter prompt_tokens;
  base::Counter generation_tokens;
  base::Counter abandoned_tokens;
  base::Counter preemptions;
  base::Counter finished_stop;
  base::Counter finished_length;
  base::Counter finished_abort;
  base::Counter finished_error;
  base::Gauge running;
  base::Gauge blocks_used;
};

/// Makes the executor, on the thread that will use it.
using ExecutorFactory = std::function<Result<std::unique_ptr<engine::Executor>>()>;

/// Runs steps while there is something to do, else sleeps on its inbox. Every step: take
/// commands, plan, agree with the other ranks whether anybody has work (if so all take part,
/// idle ones with an empty batch), execute, hand out. A failure of executor or communicator
/// ends every open request with kError and refuses later ones; nothing is thrown.
class RankLoop {
 public:
  /// `admission`, `clock` and the factory's captures outlive the loop.
  RankLoop(const SchedulerConfig& config, std::unique_ptr<comm::Communicator> communicator,
           Admission& admission, const base::Clock& clock);
  /// Ends what is left with kAbort and joins the thread.
  ~RankLoop();

  /// Starts the thread, makes the executor and draws a self-test token with it; returns its
  /// capacity or why it could not. Call once.
  Result<engine::ExecutorCapacity> start(ExecutorFactory make_executor);
  /// Ends what is left with kAbort and joins the thread. Idempotent, thread-safe.
  void stop();

  const std::shared_ptr<RankInbox>& inbox() const { return inbox_; }
  const RankMetrics& metrics() const { return metrics_; }
  /// Why the rank cannot work any more; OK while it can. Thread-safe.
  Status failure() const;
  /// Seconds since a step last completed; negative before the first. Thread-safe.
  double last_step_age_s() const;
  /// Seconds the step in progress has taken; 0 between steps. Thread-safe.
  double step_in_progress_s() const;

 private:
  using Started = Result<engine::ExecutorCapacity>;
  struct Agreement {
    bool make_step = false;
    bool may_sleep = false;
  };

  void run(const ExecutorFactory& make_executor, std::promise<Started>& started);
  void serve(engine::Executor& executor, Scheduler& scheduler);
  bool apply(RankCommand& command, Scheduler& scheduler);
  Result<bool> guarded_step(engine::Executor& executor, Scheduler& scheduler);
  Result<bool> step(engine::Executor& executor, Scheduler& scheduler);
  Result<Agreement> agree(bool has_part);
  void publish(Scheduler& scheduler);
  void deliver(Scheduler& scheduler);
  void count_finish(FinishReason reason);
  void fail(const Status& cause, Scheduler& scheduler);

  // Constant after construction.
  const SchedulerConfig config_;
  Admission& admission_;
  const base::Clock& clock_;
  const int32_t rank_;
  const std::shared_ptr<RankInbox> inbox_;

  // Rank thread only.
  std::unique_ptr<comm::Communicator> communicator_;
  std::unordered_map<SequenceId, std::shared_ptr<base::OutputQueue>> outputs_;
  uint64_t num_preemptions_ = 0;
  /// Submits and wakes seen: the same on all ranks once they have drained their inboxes.
  uint64_t num_calls_ = 0;

  // Atomics.
  RankMetrics metrics_;
  std::atomic<bool> failed_{false};
  std::atomic<int64_t> step_began_ns_{-1};  // negative between steps
  std::atomic<int64_t> step_ended_ns_{-1};  // negative before the first

  mutable std::mutex failure_mutex_;
  Status failure_;  // guarded by failure_mutex_

  std::mutex stop_mutex_;
  base::NamedThread thread_;  // guarded by stop_mutex_ once started
};

}  // namespace deepinfer::scheduler
