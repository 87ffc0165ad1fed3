#include "process/supervisor.h"

#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace deepinfer::process {
namespace {

using std::chrono::milliseconds;

// How often the watch looks at the clock.
constexpr milliseconds kTick{50};
// A dying process closes its socket a little before it is gone.
constexpr milliseconds kDeathPatience{500};
// From the deadline of a stop to the end of the process.
constexpr milliseconds kStopGrace{1'500};

Status engine_failed(std::string message) {
  return unavailable(std::move(message)).with_reason(kReasonEngineFailed);
}

Status engine_hung(std::string message) {
  return unavailable(std::move(message)).with_reason(kReasonEngineHung);
}

}  // namespace

// One engine process and what is known of it.
struct Supervisor::Engine {
  explicit Engine(EngineProcess started)
      : process(std::move(started)), link(process.fd()), began(base::steady_now()) {}

  EngineProcess process;
  EngineLink link;
  FrameReader frames;
  base::TimePoint began;
  base::TimePoint last_pulse;
  base::TimePoint last_progress;  // a step, or idleness
  uint64_t steps = 0;
  bool ready = false;
  bool stop_sent = false;
  bool stopped = false;
};

Supervisor::Supervisor(SupervisorOptions options, EngineObserver& observer)
    : options_(std::move(options)),
      observer_(observer),
      policy_(options_.max_restarts),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      health_(engine_failed("the engine has not been started")) {
  DI_CHECK(wake_.valid());
}

Supervisor::~Supervisor() {
  stop(base::TimePoint{});
}

Result<ModelInfo> Supervisor::start() {
  std::future<Result<ModelInfo>> ready = first_ready_.get_future();
  {
    const std::lock_guard lock(thread_mutex_);
    thread_ = base::NamedThread("di-supervise", [this] { run(); });
  }
  return ready.get();
}

Status Supervisor::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

Status Supervisor::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Supervisor::stop(base::TimePoint deadline) {
  {
    const std::lock_guard lock(mutex_);
    stop_ = std::min(deadline, stop_.value_or(deadline));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof(one));
  const std::lock_guard lock(thread_mutex_);
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::optional<base::TimePoint> Supervisor::stop_deadline() const {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void Supervisor::set_health(const Status& health) {
  const std::lock_guard lock(mutex_);
  health_ = health;
}

void Supervisor::give_up(const Status& why) {
  set_health(why);
  const std::lock_guard lock(mutex_);
  failure_ = why;
}

void Supervisor::run() {
  for (;;) {
    const Status ended = run_engine();
    if (!model_) {
      // What keeps the first engine from starting would keep the second from it.
      first_ready_.set_value(ended.is_ok() ? cancelled("stopped while starting") : Status(ended));
      give_up(ended.is_ok() ? engine_failed("stopped while starting") : ended);
      return;
    }
    if (ended.is_ok() || stop_deadline()) {
      give_up(engine_failed("the engine has stopped"));
      return;
    }
    const auto delay = policy_.after_death(base::steady_now());
    if (!delay) {
      DI_LOG_ERROR("{}; {} restarts within ten minutes are used up (--max-engine-restarts)",
                   ended.message(), options_.max_restarts);
      give_up(ended);
      return;
    }
    DI_LOG_WARN("{}; restart {} of {} in {} ms", ended.message(), policy_.num_recent(),
                options_.max_restarts, delay->count());
    if (!pause(*delay)) {
      give_up(engine_failed("the engine has stopped"));
      return;
    }
  }
}

bool Supervisor::pause(milliseconds delay) {
  pollfd entry{wake_.get(), POLLIN, 0};
  ::poll(&entry, 1, static_cast<int>(delay.count()));
  return !stop_deadline();
}

Status Supervisor::run_engine() {
  auto process = EngineProcess::spawn(options_.command);
  if (!process) {
    return std::move(process).error();
  }
  auto engine = std::make_unique<Engine>(*std::move(process));
  DI_LOG_INFO("engine process {} started", engine->process.pid());
  engine->link.send(options_.start);
  Status ended = serve(*engine);
  engine->link.hang_up();
  const bool hung = ended.reason() == kReasonEngineHung;
  // Clients are told first: a process that has much memory takes its time to die.
  if (!ended.is_ok()) {
    set_health(ended);
    observer_.on_lost(ended);
  }
  const std::string how = engine->process.reap(hung ? milliseconds(0) : kDeathPatience);
  if (ended.is_ok()) {
    observer_.on_lost(engine_failed("the engine has stopped"));
    DI_LOG_INFO("engine process {} {}", engine->process.pid(), how);
    return ended;
  }
  if (ended.reason() == kReasonEngineFailed) {
    ended = engine_failed(fmt::format("{}: it {}", ended.message(), how));
    set_health(ended);
  }
  return ended;
}

// Until the engine is gone (why), or was stopped (OK).
Status Supervisor::serve(Engine& engine) {
  engine.last_pulse = engine.last_progress = base::steady_now();
  for (;;) {
    std::array<pollfd, 2> entries = {{{engine.process.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
    // The wake stays readable, so after it the clock alone paces this loop.
    ::poll(entries.data(), engine.stop_sent ? 1 : 2, static_cast<int>(kTick.count()));
    if (entries[0].revents != 0) {
      DI_TRY(receive(engine));
    }
    if (engine.stopped) {
      return Status::ok();
    }
    pass_on_stop(engine);
    DI_TRY(watch(engine));
  }
}

Status Supervisor::receive(Engine& engine) {
  const auto more = engine.frames.receive(engine.process.fd());
  // What came before the end is still worth having.
  for (const std::string& frame : engine.frames.take()) {
    auto message = decode_from_engine(frame);
    if (!message) {
      return engine_failed("the engine process speaks nonsense: " + message.error().message());
    }
    DI_TRY(handle(engine, *std::move(message)));
  }
  if (!engine.stopped && (!more || !*more)) {
    return engine_failed("the engine process is gone");
  }
  return Status::ok();
}

Status Supervisor::handle(Engine& engine, FromEngine&& message) {
  const base::TimePoint now = base::steady_now();
  if (auto* outputs = std::get_if<OutputsMessage>(&message)) {
    note_steps(engine, outputs->stats);
    observer_.on_outputs(std::move(*outputs));
  } else if (auto* answer = std::get_if<AnswerMessage>(&message)) {
    observer_.on_answer(std::move(*answer));
  } else if (const auto* pulse = std::get_if<PulseMessage>(&message)) {
    engine.last_pulse = now;
    note_steps(engine, pulse->stats);
    observer_.on_pulse(*pulse);
    if (engine.ready && !engine.stop_sent && !pulse->health.is_ok()) {
      return pulse->health.reason() == kReasonEngineHung ? engine_hung(pulse->health.message())
                                                         : engine_failed(pulse->health.message());
    }
  } else if (const auto* ready = std::get_if<ReadyMessage>(&message)) {
    engine.last_progress = now;
    return accept(engine, ready->model);
  } else if (const auto* failed = std::get_if<FailedMessage>(&message)) {
    return failed->why.is_ok() ? engine_failed("the engine gave no reason") : Status(failed->why);
  } else {
    engine.stopped = true;
  }
  return Status::ok();
}

void Supervisor::note_steps(Engine& engine, const LlmStats& stats) {
  if (stats.steps != engine.steps) {
    engine.steps = stats.steps;
    engine.last_progress = base::steady_now();
  }
}

Status Supervisor::accept(Engine& engine, const ModelInfo& model) {
  if (model_ && *model_ != model) {
    return engine_failed("the model in the directory is not the one it was at the start");
  }
  engine.ready = true;
  set_health(Status::ok());
  observer_.on_ready(engine.link);
  if (!model_) {
    model_ = model;
    first_ready_.set_value(model);
  } else {
    DI_LOG_INFO("the engine serves again after {:.1f} s",
                base::seconds_between(engine.began, base::steady_now()));
  }
  return Status::ok();
}

void Supervisor::pass_on_stop(Engine& engine) {
  const auto deadline = stop_deadline();
  if (deadline && !engine.stop_sent) {
    engine.stop_sent = true;
    engine.link.send(StopMessage{*deadline});
  }
}

Status Supervisor::watch(Engine& engine) {
  const base::TimePoint now = base::steady_now();
  if (const auto deadline = stop_deadline()) {
    // An engine that is still loading does not listen yet.
    const bool over = now > *deadline + (engine.ready ? kStopGrace : milliseconds(0));
    return over ? engine_hung("the engine process does not stop") : Status::ok();
  }
  if (now - engine.last_pulse > options_.hang_timeout) {
    return engine_hung(fmt::format("the engine process gives no sign of life for {} s",
                                   options_.hang_timeout.count() / 1000.0));
  }
  if (!engine.ready) {
    const bool late = model_ && now - engine.began > options_.startup_timeout;
    return late ? engine_failed("the restarted engine is not ready in time (--startup-timeout)")
                : Status::ok();
  }
  if (!observer_.has_work()) {
    engine.last_progress = now;
  }
  if (now - engine.last_progress > options_.hang_timeout) {
    return engine_hung(fmt::format("the engine hangs: requests run and no step has ended for {} s",
                                   options_.hang_timeout.count() / 1000.0));
  }
  return Status::ok();
}

}  // namespace deepinfer::process
