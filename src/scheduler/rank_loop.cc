#include "scheduler/rank_loop.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <exception>
#include <type_traits>
#include <utility>

#include "base/log.h"

namespace deepinfer::scheduler {
namespace {

int64_t nanoseconds(base::TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Room for a submit, a cancel and a late cancel of every request that may be open, and a wake
// for each, so that a push to an open inbox never fails.
size_t inbox_capacity(const SchedulerConfig& config) {
  const auto open =
      static_cast<size_t>(config.max_num_seqs) + static_cast<size_t>(config.max_num_queued_reqs);
  return 4 * open + 64;
}

// One token through a scheduler of its own: what a client's first token needs, before there
// is a client. The caches hold nothing afterwards that a new sequence would read.
Status self_test(engine::Executor& executor, const SchedulerConfig& config,
                 const base::Clock& clock) {
  Scheduler scheduler(config, executor.capacity());
  GenerateRequest request{.id = "self-test", .prompt = {0}, .sampling = {.temperature = 0.0F}};
  DI_TRY(scheduler.add(0, std::move(request), 0, clock.now()));
  DI_ASSIGN(const engine::StepOutput output, executor.execute(scheduler.schedule(clock.now())));
  DI_TRY(scheduler.update(output, clock.now()));
  for (const RequestOutput& result : scheduler.take_outputs()) {
    DI_TRY(Status(result.output.error));
  }
  return scheduler.has_work() ? internal_error("no token came") : Status::ok();
}

}  // namespace

RankLoop::RankLoop(const SchedulerConfig& config, std::unique_ptr<comm::Communicator> communicator,
                   Admission& admission, const base::Clock& clock)
    : config_(config),
      admission_(admission),
      clock_(clock),
      rank_(communicator->rank()),
      inbox_(std::make_shared<RankInbox>(inbox_capacity(config))),
      communicator_(std::move(communicator)) {}

RankLoop::~RankLoop() {
  stop();
}

Result<engine::ExecutorCapacity> RankLoop::start(ExecutorFactory make_executor) {
  // Shared: the thread may still be inside set_value when the future is ready.
  const auto started = std::make_shared<std::promise<Started>>();
  std::future<Started> result = started->get_future();
  const std::string name = fmt::format("rank{}", rank_);
  thread_ = base::NamedThread(name, [this, make_executor = std::move(make_executor), started] {
    run(make_executor, *started);
  });
  return result.get();
}

void RankLoop::stop() {
  inbox_->close();
  const std::lock_guard lock(stop_mutex_);
  thread_.join();
}

void RankLoop::run(const ExecutorFactory& make_executor, std::promise<Started>& started) {
  const auto make_tested = [&]() -> Result<std::unique_ptr<engine::Executor>> {
    try {
      DI_ASSIGN(auto made, make_executor());
      const Status tested = self_test(*made, config_, clock_);
      if (!tested.is_ok()) {
        return tested.with_context("self-test");
      }
      return made;
    } catch (const std::exception& error) {
      return internal_error(fmt::format("exception at start: {}", error.what()));
    }
  };
  auto executor = make_tested();
  if (!executor) {
    started.set_value(executor.error());
    communicator_.reset();  // peers that wait for this rank fail too
    return;
  }
  Scheduler scheduler(config_, (*executor)->capacity());
  started.set_value((*executor)->capacity());
  serve(**executor, scheduler);
}

void RankLoop::serve(engine::Executor& executor, Scheduler& scheduler) {
  bool busy = false;
  for (;;) {
    const bool closed = inbox_->closed();  // read first: nothing is pushed after it
    std::vector<RankCommand> commands = busy ? inbox_->drain() : inbox_->wait_drain();
    const uint64_t num_seen = num_calls_;
    for (RankCommand& command : commands) {
      num_calls_ += apply(command, scheduler) ? 1 : 0;
    }
    const bool woken = busy || num_calls_ != num_seen;
    if (closed) {
      scheduler.abort_all(clock_.now());
      deliver(scheduler);
      communicator_.reset();
      return;
    }
    if (woken && !failed_.load()) {
      const Result<bool> stepped = guarded_step(executor, scheduler);
      busy = stepped.has_value() && *stepped;
      // Peers leave when everything is closed; that alone is no fault.
      if (!stepped && (scheduler.has_work() || !inbox_->closed())) {
        fail(stepped.error(), scheduler);
      }
    }
    deliver(scheduler);
  }
}

// True for a submit or a wake, which every rank sees: they have to meet because of it. A cancel
// reaches one rank only, and gives nobody work.
bool RankLoop::apply(RankCommand& command, Scheduler& scheduler) {
  return std::visit(
      [&](auto& what) {
        using Command = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<Command, SubmitCommand>) {
          const int64_t prompt_tokens = static_cast<int64_t>(what.request.prompt.size());
          Status added = failed_.load() ? failure()
                                        : scheduler.add(what.id, std::move(what.request), what.seed,
                                                        what.submitted, what.constraint);
          if (added.is_ok()) {
            outputs_.emplace(what.id, std::move(what.output));
            return true;
          }
          TokenOutput refusal;
          refusal.finish = FinishReason::kError;
          refusal.error = std::move(added);
          admission_.leave_queue(prompt_tokens);
          admission_.release();
          count_finish(FinishReason::kError);
          what.output->push(std::move(refusal));
          return true;
        } else if constexpr (std::is_same_v<Command, CancelCommand>) {
          scheduler.abort(what.id, clock_.now());
          return false;
        } else if constexpr (std::is_same_v<Command, AbortAllCommand>) {
          scheduler.abort_all(clock_.now());
          return false;
        } else {
          return true;
        }
      },
      command);
}

Result<bool> RankLoop::guarded_step(engine::Executor& executor, Scheduler& scheduler) {
  try {
    return step(executor, scheduler);
  } catch (const std::exception& error) {
    return internal_error(fmt::format("exception in a step: {}", error.what()));
  }
}

// Makes a step with the other ranks if any of them has work. False if all may sleep.
Result<bool> RankLoop::step(engine::Executor& executor, Scheduler& scheduler) {
  const engine::Batch batch = scheduler.schedule(clock_.now());
  publish(scheduler);  // true while the step runs
  const bool has_part = !batch.sequences.empty();
  if (!has_part && scheduler.has_work()) {
    return internal_error(fmt::format("{} requests are open, but none can run",
                                      scheduler.num_running() + scheduler.num_waiting()));
  }
  if (has_part) {  // an idle rank may wait for the others as long as they are idle too
    step_began_ns_ = nanoseconds(clock_.now());
  }
  DI_ASSIGN(const Agreement agreed, agree(has_part));
  if (!agreed.make_step) {
    return !agreed.may_sleep;
  }
  step_began_ns_ = nanoseconds(clock_.now());
  DI_ASSIGN(const engine::StepOutput output, executor.execute(batch));
  if (has_part) {
    DI_TRY(scheduler.update(output, clock_.now()));
  }
  metrics_.steps.add();
  step_ended_ns_ = nanoseconds(clock_.now());
  step_began_ns_ = -1;
  return true;
}

// A rank that has not seen a call yet would sleep through it, so nobody sleeps until all have.
Result<RankLoop::Agreement> RankLoop::agree(bool has_part) {
  const auto num_calls = static_cast<int64_t>(num_calls_);
  std::array<int64_t, 3> most = {has_part ? 1 : 0, num_calls, -num_calls};
  DI_TRY(communicator_->all_reduce(std::span<int64_t>(most), comm::ReduceOp::kMax));
  return Agreement{.make_step = most[0] != 0, .may_sleep = most[1] == -most[2]};
}

void RankLoop::publish(Scheduler& scheduler) {
  for (const Dequeued& dequeued : scheduler.take_dequeued()) {
    admission_.leave_queue(dequeued.prompt_tokens);
    if (dequeued.started) {
      metrics_.prompt_tokens.add(static_cast<uint64_t>(dequeued.prompt_tokens));
    }
  }
  metrics_.running.set(scheduler.num_running());
  metrics_.blocks_used.set(scheduler.blocks().num_used());
  metrics_.preemptions.add(scheduler.num_preemptions() - num_preemptions_);
  num_preemptions_ = scheduler.num_preemptions();
}

// Numbers first, then the freed places, then the outputs: who sees an output sees the rest.
void RankLoop::deliver(Scheduler& scheduler) {
  publish(scheduler);
  for (RequestOutput& result : scheduler.take_outputs()) {
    metrics_.generation_tokens.add(result.output.tokens.size());
    const auto output = outputs_.find(result.id);
    if (output->second->abandoned()) {
      metrics_.abandoned_tokens.add(result.output.tokens.size());
    }
    if (!result.output.finish) {
      output->second->push(std::move(result.output));
      continue;
    }
    count_finish(*result.output.finish);
    DI_LOG_DEBUG("rank {}: sequence {} finished after {} tokens", rank_, result.id,
                 result.output.usage.completion_tokens);
    admission_.release();
    output->second->push(std::move(result.output));
    outputs_.erase(output);
  }
}

void RankLoop::count_finish(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return metrics_.finished_stop.add();
    case FinishReason::kLength:
      return metrics_.finished_length.add();
    case FinishReason::kAbort:
      return metrics_.finished_abort.add();
    case FinishReason::kError:
      return metrics_.finished_error.add();
  }
}

void RankLoop::fail(const Status& cause, Scheduler& scheduler) {
  DI_LOG_ERROR("rank {}: the engine failed: {}", rank_, cause.message());
  {
    const std::lock_guard lock(failure_mutex_);
    failure_ = unavailable(fmt::format("the engine failed: {}", cause.message()))
                   .with_reason("engine_failed");
  }
  failed_ = true;
  communicator_.reset();  // ends the steps of the other ranks too
  step_began_ns_ = -1;
  // Whatever the cause was, for a client it is the engine that is not there.
  scheduler.fail_all(failure(), clock_.now());
}

Status RankLoop::failure() const {
  if (!failed_.load()) {
    return Status::ok();
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

double RankLoop::last_step_age_s() const {
  const int64_t ended = step_ended_ns_.load();
  return ended < 0 ? -1.0 : static_cast<double>(nanoseconds(clock_.now()) - ended) * 1e-9;
}

double RankLoop::step_in_progress_s() const {
  const int64_t began = step_began_ns_.load();
  return began < 0 ? 0.0 : static_cast<double>(nanoseconds(clock_.now()) - began) * 1e-9;
}

}  // namespace deepinfer::scheduler
