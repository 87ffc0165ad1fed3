#include "scheduler/dispatcher.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "comm/communicator.h"
#include "scheduler/request_check.h"

namespace deepinfer::scheduler {
namespace {

// A well-mixed seed per request. Source: SplitMix64, G. Steele et al., OOPSLA 2014, figure 17.
uint64_t derive_seed(uint64_t seed, SequenceId id) {
  uint64_t mixed = seed + id * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31);
}

int32_t max_running(const SchedulerConfig& config) {
  return std::min(config.max_num_seqs, config.max_num_batched_tokens);
}

}  // namespace

Dispatcher::Dispatcher(const Options& options, const base::Clock& clock)
    : options_(options),
      clock_(clock),
      admission_(options.scheduler, max_running(options.scheduler)),
      rank_(options.scheduler, std::move(comm::make_thread_communicators(1).front()), admission_,
            clock) {}

Dispatcher::~Dispatcher() {
  shutdown(base::TimePoint{});
}

Result<std::unique_ptr<Llm>> Dispatcher::start(const Options& options,
                                               ExecutorFactory make_executor,
                                               const base::Clock& clock,
                                               const CompilerFactory& make_compiler) {
  std::unique_ptr<Dispatcher> dispatcher(new Dispatcher(options, clock));
  DI_ASSIGN(const engine::ExecutorCapacity capacity,
            dispatcher->rank_.start(std::move(make_executor)));
  dispatcher->model_ = {.vocab_size = capacity.vocab_size,
                        .max_model_len = longest_sequence(capacity),
                        .eos_token_ids = capacity.eos_token_ids,
                        .system_fingerprint = capacity.fingerprint};
  dispatcher->blocks_total_ = capacity.num_blocks;
  if (make_compiler) {
    dispatcher->compiler_ = make_compiler(capacity);
  }
  return std::unique_ptr<Llm>(std::move(dispatcher));
}

Result<std::unique_ptr<OutputStream>> Dispatcher::submit(GenerateRequest request) {
  Status checked = check_request(request, model_);
  if (!checked.is_ok()) {
    refused_.add();
    return checked;
  }
  auto constraint = compile(request);
  if (!constraint) {
    refused_.add();
    return constraint.error();
  }
  auto stream = admit(std::move(request), *std::move(constraint));
  if (!stream) {
    refused_.add();
  }
  return stream;
}

Result<Dispatcher::Compiled> Dispatcher::compile(const GenerateRequest& request) {
  if (!request.constraint) {
    return Compiled();
  }
  if (!compiler_) {
    return Status(unimplemented("this engine has no tokenizer to enforce a constraint with")
                      .with_param(request.constraint->param));
  }
  DI_ASSIGN(auto compiled, compiler_->compile(*request.constraint));
  return Compiled(std::move(compiled));
}

Result<std::unique_ptr<OutputStream>> Dispatcher::admit(GenerateRequest request,
                                                        Compiled constraint) {
  const auto output = std::make_shared<base::OutputQueue>();
  const std::lock_guard lock(submit_mutex_);
  DI_TRY(rank_.failure());
  DI_TRY(admission_.admit(static_cast<int64_t>(request.prompt.size())));
  const SequenceId id = next_id_++;
  DI_LOG_DEBUG("request {} is sequence {}", request.id, id);
  const uint64_t seed = request.sampling.seed.value_or(derive_seed(options_.seed, id));
  const bool queued = rank_.inbox()->try_push(SubmitCommand{.id = id,
                                                            .request = std::move(request),
                                                            .constraint = std::move(constraint),
                                                            .seed = seed,
                                                            .submitted = clock_.now(),
                                                            .output = output});
  DI_CHECK(queued);  // the inbox closes only after admission has, and has room for all admitted
  return std::unique_ptr<OutputStream>(
      std::make_unique<base::QueuedOutputStream>(output, [id, inbox = rank_.inbox()] {
        // Full is impossible (the inbox has room for a submit and a cancel of every open request);
        // closed means that the engine has ended every request.
        static_cast<void>(inbox->try_push(CancelCommand{.id = id}));
      }));
}

LlmStats Dispatcher::stats() const {
  const RankMetrics& metrics = rank_.metrics();
  LlmStats stats;
  stats.num_running = static_cast<int32_t>(metrics.running.value());
  stats.num_waiting = std::max(0, admission_.num_open() - stats.num_running);
  stats.num_waiting_prompt_tokens = admission_.num_queued_tokens();
  stats.blocks_used = static_cast<int32_t>(metrics.blocks_used.value());
  stats.blocks_total = blocks_total_;
  stats.steps = metrics.steps.value();
  stats.prompt_tokens = metrics.prompt_tokens.value();
  stats.generation_tokens = metrics.generation_tokens.value();
  stats.abandoned_tokens = metrics.abandoned_tokens.value();
  stats.preemptions = metrics.preemptions.value();
  stats.finished_stop = metrics.finished_stop.value();
  stats.finished_length = metrics.finished_length.value();
  stats.finished_abort = metrics.finished_abort.value();
  stats.finished_error = metrics.finished_error.value();
  stats.refused = refused_.value();
  stats.last_step_age_s = rank_.last_step_age_s();
  return stats;
}

Status Dispatcher::health() const {
  DI_TRY(rank_.failure());
  if (stopped_.load()) {
    return unavailable("the engine has stopped");
  }
  const double in_progress_s = rank_.step_in_progress_s();
  if (in_progress_s > std::chrono::duration<double>(options_.hang_timeout).count()) {
    return Status(unavailable(fmt::format("the engine hangs: a step has been running for {:.0f} s",
                                          in_progress_s))
                      .with_reason(kReasonEngineHung));
  }
  return Status::ok();
}

void Dispatcher::shutdown(std::chrono::steady_clock::time_point deadline) {
  {
    const std::lock_guard lock(submit_mutex_);
    admission_.close();
  }
  if (!admission_.wait_until_empty(deadline)) {
    static_cast<void>(rank_.inbox()->try_push(AbortAllCommand{}));
    admission_.wait_until_empty(base::TimePoint::max());
  }
  rank_.stop();
  stopped_ = true;
}

}  // namespace deepinfer::scheduler
