#include "process/remote_llm.h"

#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/output_queue.h"
#include "process/frame_socket.h"

namespace deepinfer::process {
namespace {

// A constraint may take the engine ten seconds to compile before it answers.
constexpr std::chrono::milliseconds kCompileTime{30'000};

// One request on its way.
struct OpenRequest {
  const std::shared_ptr<base::OutputQueue> output = std::make_shared<base::OutputQueue>();
  std::condition_variable answered;
  std::optional<Status> answer;  // guarded by the mutex of all requests
};

TokenOutput lost(const Status& why) {
  TokenOutput output;
  output.finish = FinishReason::kError;
  output.error = why;
  return output;
}

// What has been counted, of engines that are gone.
void add_counters(LlmStats& to, const LlmStats& from) {
  to.steps += from.steps;
  to.prompt_tokens += from.prompt_tokens;
  to.generation_tokens += from.generation_tokens;
  to.abandoned_tokens += from.abandoned_tokens;
  to.preemptions += from.preemptions;
  to.finished_stop += from.finished_stop;
  to.finished_length += from.finished_length;
  to.finished_abort += from.finished_abort;
  to.finished_error += from.finished_error;
  to.refused += from.refused;
}

}  // namespace

// Open requests by number. Shared with their streams, which may outlive the engine. Thread-safe.
class RemoteLlm::Requests final : public EngineObserver {
 public:
  /// Sends the request and waits for the engine's answer; kUnavailable if none comes.
  Result<std::shared_ptr<OpenRequest>> submit(RequestNumber number, GenerateRequest&& request,
                                              std::chrono::milliseconds timeout) {
    std::string message = encode(SubmitMessage{.number = number, .request = std::move(request)});
    if (message.size() > kMaxFrameBytes) {
      // Sending it would end the connection, and with it everybody's requests.
      return invalid_argument(fmt::format("the request takes {} bytes, the engine takes {}",
                                          message.size(), kMaxFrameBytes));
    }
    const auto opened = std::make_shared<OpenRequest>();
    std::unique_lock lock(mutex_);
    if (link_ == nullptr) {
      return Status(down_);
    }
    open_.emplace(number, opened);
    link_->send_encoded(std::move(message));
    if (!opened->answered.wait_for(lock, timeout, [&] { return opened->answer.has_value(); })) {
      cancel_locked(number);
      return Status(unavailable("the engine does not answer").with_reason(kReasonEngineHung));
    }
    DI_TRY(Status(*opened->answer));
    return opened;
  }

  RequestNumber next_number() { return next_.fetch_add(1, std::memory_order_relaxed); }

  void cancel(RequestNumber number) {
    const std::lock_guard lock(mutex_);
    cancel_locked(number);
  }

  LlmStats stats() const {
    const std::lock_guard lock(mutex_);
    LlmStats stats = stats_;
    add_counters(stats, past_);
    if (stats.last_step_age_s >= 0) {
      stats.last_step_age_s += base::seconds_between(stats_taken_, base::steady_now());
    }
    return stats;
  }

  void on_ready(EngineLink& link) override {
    const std::lock_guard lock(mutex_);
    link_ = &link;
  }

  void on_answer(AnswerMessage&& answer) override {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(answer.number);
    if (found == open_.end()) {
      return;
    }
    OpenRequest& request = *found->second;
    request.answer = std::move(answer.refusal);
    request.answered.notify_one();
    if (request.answer->is_ok()) {
      ++num_running_;
    } else {
      open_.erase(found);
    }
  }

  void on_outputs(OutputsMessage&& message) override {
    const std::lock_guard lock(mutex_);
    set_stats_locked(message.stats);  // first: who reads an output may ask for them
    for (auto& [number, output] : message.outputs) {
      const auto found = open_.find(number);
      if (found == open_.end()) {
        continue;  // cancelled meanwhile
      }
      const bool last = output.finish.has_value();
      found->second->output->push(std::move(output));
      if (last) {
        remove_locked(found);
      }
    }
  }

  void on_pulse(const PulseMessage& pulse) override {
    const std::lock_guard lock(mutex_);
    set_stats_locked(pulse.stats);
  }

  void on_lost(const Status& why) override {
    const std::lock_guard lock(mutex_);
    link_ = nullptr;
    down_ = why;
    for (const auto& [number, request] : open_) {
      if (request->answer) {
        request->output->push(lost(why));
        ++past_.finished_error;
      } else {
        request->answer = why;
        request->answered.notify_one();
      }
    }
    open_.clear();
    num_running_ = 0;
    add_counters(past_, std::exchange(stats_, {}));
  }

  bool has_work() const override {
    const std::lock_guard lock(mutex_);
    return num_running_ > 0;
  }

 private:
  using Open = std::unordered_map<RequestNumber, std::shared_ptr<OpenRequest>>;

  void set_stats_locked(const LlmStats& stats) {
    stats_ = stats;
    stats_taken_ = base::steady_now();
  }

  void cancel_locked(RequestNumber number) {
    const auto found = open_.find(number);
    if (found == open_.end()) {
      return;
    }
    remove_locked(found);
    if (link_ != nullptr) {
      link_->send(CancelMessage{number});
    }
  }

  void remove_locked(Open::iterator found) {
    num_running_ -= found->second->answer ? 1 : 0;
    open_.erase(found);
  }

  std::atomic<RequestNumber> next_{1};
  mutable std::mutex mutex_;
  EngineLink* link_ = nullptr;  // guarded by mutex_, as all below
  Status down_ = unavailable("the engine is starting");
  Open open_;
  int64_t num_running_ = 0;  // the admitted ones of open_
  LlmStats stats_;           // of the engine that runs
  LlmStats past_;            // counters of those before
  base::TimePoint stats_taken_;
};

RemoteLlm::RemoteLlm(const SupervisorOptions& options)
    : answer_timeout_(options.hang_timeout + kCompileTime),
      requests_(std::make_shared<Requests>()),
      supervisor_(std::make_unique<Supervisor>(options, *requests_)) {}

RemoteLlm::~RemoteLlm() = default;

Result<std::unique_ptr<Llm>> RemoteLlm::open(const SupervisorOptions& options) {
  std::unique_ptr<RemoteLlm> remote(new RemoteLlm(options));
  DI_ASSIGN(remote->model_, remote->supervisor_->start());
  return std::unique_ptr<Llm>(std::move(remote));
}

Result<std::unique_ptr<OutputStream>> RemoteLlm::submit(GenerateRequest request) {
  const RequestNumber number = requests_->next_number();
  DI_ASSIGN(const auto opened, requests_->submit(number, std::move(request), answer_timeout_));
  return std::unique_ptr<OutputStream>(std::make_unique<base::QueuedOutputStream>(
      opened->output, [requests = requests_, number] { requests->cancel(number); }));
}

LlmStats RemoteLlm::stats() const {
  return requests_->stats();
}

Status RemoteLlm::health() const {
  return supervisor_->health();
}

Status RemoteLlm::failure() const {
  return supervisor_->failure();
}

void RemoteLlm::shutdown(std::chrono::steady_clock::time_point deadline) {
  supervisor_->stop(deadline);
}

}  // namespace deepinfer::process
