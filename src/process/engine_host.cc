#include "process/engine_host.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/thread.h"
#include "process/frame_socket.h"
#include "process/message.h"
#include "process/output_pump.h"

namespace deepinfer::process {
namespace {

constexpr std::chrono::milliseconds kPulseInterval{100};

// Ends the process without waiting for a step that runs: there is nobody to serve it to.
[[noreturn]] void leave(const Status& why) {
  DI_LOG_ERROR("the engine process ends: {}", why.message());
  spdlog::default_logger()->flush();
  ::_exit(base::kExitFailure);
}

// Frames to the front, from several threads. When the front is gone, they go nowhere; the reading
// thread sees the end.
class Outlet {
 public:
  explicit Outlet(int fd) : fd_(fd) {}

  void send(const FromEngine& message) {
    const std::string bytes = encode(message);
    const std::lock_guard lock(mutex_);
    const Status sent = send_frame(fd_, bytes);
    if (sent.code() == StatusCode::kInvalidArgument) {
      leave(sent);  // outputs would be lost, and their requests never end
    }
  }

 private:
  const int fd_;
  std::mutex mutex_;
};

// Requests whose constraint has to be compiled first: that takes up to seconds, and nobody else
// may wait for it. Threads are made as they are needed.
class SlowSubmits {
 public:
  using Submit = std::function<void(SubmitMessage&&)>;
  explicit SlowSubmits(Submit submit) : submit_(std::move(submit)) {}
  ~SlowSubmits() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  void add(SubmitMessage&& message) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(message));
    if (num_idle_ < queue_.size() && threads_.size() < kMaxThreads) {
      threads_.emplace_back(fmt::format("di-submit{}", threads_.size()), [this] { run(); });
    }
    changed_.notify_one();
  }

 private:
  static constexpr size_t kMaxThreads = 64;

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++num_idle_;
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      --num_idle_;
      if (closed_) {
        return;
      }
      SubmitMessage message = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      submit_(std::move(message));
      lock.lock();
    }
  }

  const Submit submit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SubmitMessage> queue_;  // guarded by mutex_, as all below
  size_t num_idle_ = 0;
  bool closed_ = false;
  std::vector<base::NamedThread> threads_;  // joined first
};

// Tells the front at a steady pace that this process runs, and how the engine is.
class Pulse {
 public:
  explicit Pulse(Outlet& outlet) : outlet_(outlet), thread_("di-pulse", [this] { run(); }) {}
  ~Pulse() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

  /// `llm` outlives the pulse.
  void watch(const Llm& llm) { llm_.store(&llm, std::memory_order_release); }
  void beat() {
    PulseMessage message;
    if (const Llm* llm = llm_.load(std::memory_order_acquire)) {
      message = {.stats = llm->stats(), .health = llm->health()};
    }
    outlet_.send(message);
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kPulseInterval, [this] { return closed_; })) {
      lock.unlock();
      beat();
      lock.lock();
    }
  }

  Outlet& outlet_;
  std::atomic<const Llm*> llm_{nullptr};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;  // guarded by mutex_
  base::NamedThread thread_;
};

// An open engine and the front that it serves.
class Host {
 public:
  Host(std::unique_ptr<Llm> llm, Outlet& outlet)
      : llm_(std::move(llm)),
        outlet_(outlet),
        pump_([this](OutputsMessage&& message) {
          message.stats = llm_->stats();
          outlet_.send(std::move(message));
        }),
        slow_([this](SubmitMessage&& message) { submit(std::move(message)); }) {}

  const Llm& llm() const { return *llm_; }

  /// A stop has been carried out.
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

  void handle(ToEngine&& message) {
    if (auto* submitted = std::get_if<SubmitMessage>(&message)) {
      {
        const std::lock_guard lock(mutex_);
        submitting_.insert(submitted->number);
      }
      if (submitted->request.constraint) {
        slow_.add(std::move(*submitted));
      } else {
        submit(std::move(*submitted));
      }
    } else if (const auto* cancelled = std::get_if<CancelMessage>(&message)) {
      cancel(cancelled->number);
    } else if (const auto* stop = std::get_if<StopMessage>(&message)) {
      // Meanwhile cancels are still taken.
      stopper_ = base::NamedThread("di-stop", [this, deadline = stop->deadline] { end(deadline); });
    }
  }

 private:
  void submit(SubmitMessage&& message) {
    auto stream = llm_->submit(std::move(message.request));
    outlet_.send(AnswerMessage{.number = message.number, .refusal = stream.status()});
    const std::lock_guard lock(mutex_);
    const bool wanted = submitting_.erase(message.number) > 0;
    if (stream && wanted) {
      pump_.add(message.number, *std::move(stream));
    }
  }

  void cancel(RequestNumber number) {
    const std::lock_guard lock(mutex_);
    if (submitting_.erase(number) == 0) {
      pump_.cancel(number);
    }
  }

  void end(base::TimePoint deadline) {
    llm_->shutdown(deadline);
    pump_.wait_until_empty();
    outlet_.send(PulseMessage{.stats = llm_->stats(), .health = Status::ok()});
    stopped_.store(true, std::memory_order_release);
    outlet_.send(StoppedMessage{});
  }

  std::unique_ptr<Llm> llm_;
  Outlet& outlet_;
  OutputPump pump_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::set<RequestNumber> submitting_;  // guarded by mutex_: without an answer yet
  SlowSubmits slow_;
  base::NamedThread stopper_;
};

// Messages of the front.
class Inlet {
 public:
  explicit Inlet(int fd) : fd_(fd) {}

  /// Waits for the next one. kUnavailable when the front is gone.
  Result<ToEngine> next() {
    while (waiting_.empty()) {
      DI_ASSIGN(const bool more, reader_.receive(fd_));
      for (std::string& frame : reader_.take()) {
        waiting_.push_back(std::move(frame));
      }
      if (waiting_.empty() && !more) {
        return unavailable("the front process is gone");
      }
    }
    const std::string frame = std::move(waiting_.front());
    waiting_.pop_front();
    return decode_to_engine(frame);
  }

 private:
  const int fd_;
  FrameReader reader_;
  std::deque<std::string> waiting_;
};

Result<std::unique_ptr<Llm>> guarded_open(const EngineFactory& open, const EngineConfig& config) {
  try {
    return open(config);
  } catch (const std::exception& error) {
    return failed_precondition(fmt::format("reading the model threw: {}", error.what()));
  }
}

}  // namespace

int run_engine_host(int fd, const EngineFactory& open) {
  Inlet inlet(fd);
  const auto first = inlet.next();
  const auto* start = first ? std::get_if<StartMessage>(&*first) : nullptr;
  if (start == nullptr || !base::configure_logging(start->log_level, start->log_format).is_ok()) {
    return base::kExitFailure;
  }
  Outlet outlet(fd);
  std::optional<Host> host;
  Pulse pulse(outlet);
  auto llm = guarded_open(open, start->engine);
  if (!llm) {
    outlet.send(FailedMessage{llm.error()});
    return base::exit_code_of(llm.error());
  }
  const ModelInfo model = (*llm)->model();
  host.emplace(*std::move(llm), outlet);
  outlet.send(ReadyMessage{model});
  pulse.watch(host->llm());
  for (;;) {
    auto message = inlet.next();
    if (!message) {
      if (!host->stopped()) {
        leave(message.error());
      }
      return base::kExitOk;
    }
    host->handle(*std::move(message));
  }
}

}  // namespace deepinfer::process
