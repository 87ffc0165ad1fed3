#include "server/lifecycle.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/unique_fd.h"

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;

// How often the engine is asked whether it is well.
constexpr milliseconds kHealthInterval{1'000};

// Listeners, logs, model files and devices need some too.
constexpr uint64_t kOtherDescriptors = 128;

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

// Waits for a signal or an event of ours.
class SignalWatch {
 public:
  SignalWatch() : done_(::eventfd(0, EFD_CLOEXEC)) {
    const sigset_t signals = ending_signals();
    signals_ = base::UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC));
    DI_CHECK(done_.valid() && signals_.valid());
  }

  /// The signal that came, 0 after `notify` or when `limit` is over.
  int wait(milliseconds limit) {
    std::array<pollfd, 2> entries = {{{signals_.get(), POLLIN, 0}, {done_.get(), POLLIN, 0}}};
    ::poll(entries.data(), entries.size(), static_cast<int>(limit.count()));
    if ((entries[1].revents & POLLIN) != 0) {
      uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = ::read(done_.get(), &count, sizeof(count));
    }
    if ((entries[0].revents & POLLIN) == 0) {
      return 0;
    }
    signalfd_siginfo info{};
    const ssize_t got = ::read(signals_.get(), &info, sizeof(info));
    return got == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
  }

  /// From any thread: `wait` returns.
  void notify() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(done_.get(), &one, sizeof(one));
  }

 private:
  base::UniqueFd done_;
  base::UniqueFd signals_;
};

// Thousands of connections need more than the usual 1,024 descriptors. Gives the limit in force.
uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

HttpConfig fit_to_descriptors(HttpConfig http, uint64_t num_descriptors) {
  const int32_t wanted = http.max_connections;
  http.max_connections = connections_within(num_descriptors, wanted);
  if (http.max_connections < wanted) {
    DI_LOG_WARN("--max-connections {} lowered to {}: the process may open {} files (ulimit -n)",
                wanted, http.max_connections, num_descriptors);
  }
  return http;
}

void log_start(const ServerOptions& options, const Server& server, const std::string& address) {
  for (const Setting& setting : options.settings) {
    DI_LOG_INFO("setting {} = {} ({})", setting.name, setting.value, setting.origin);
  }
  for (const std::string& warning : options.warnings) {
    DI_LOG_WARN("{}", warning);
  }
  const HttpConfig& http = options.config.http;
  std::string open;
  for (const std::string& path : server.open_paths()) {
    open += " " + path;
  }
  DI_LOG_INFO("open without a key:{}", http.api_keys.empty() ? " everything" : open);
  const bool loopback = http.host == "localhost" || http.host == "::1" ||
                        http.host.compare(0, 4, "127.") == 0 ||
                        http.host.compare(0, 5, "unix:") == 0;
  if (http.api_keys.empty() && !loopback) {
    DI_LOG_WARN("everybody who reaches {} can use this server; --api-key-file restricts it",
                address);
  }
  DI_LOG_INFO("listening on {}", address);
}

// One run of the server; main thread, with a loader and a drain thread beside it.
class Run {
 public:
  Run(const ServerOptions& options, const LifecycleTuning& tuning, Service& service, Server& server)
      : options_(options), tuning_(tuning), service_(service), server_(server) {}

  int execute(Loader loader) {
    start_loading(std::move(loader));
    const int code = wait_for_end();
    return code >= 0 ? code : drain();
  }

 private:
  // Files of a model directory can be anything; what reading them throws is a failed load.
  Result<LoadedParts> guarded(const Loader& loader) {
    try {
      return loader(service_);
    } catch (const std::exception& error) {
      return failed_precondition(fmt::format("reading the model threw: {}", error.what()));
    }
  }

  void start_loading(Loader loader) {
    load_deadline_ = base::steady_now() + options_.startup_timeout;
    loader_ = base::NamedThread("di-load", [this, loader = std::move(loader)] {
      auto loaded = guarded(loader);
      if (loaded) {
        service_.start_serving(std::move(loaded->recipe), std::move(loaded->llm));
        DI_LOG_INFO("ready: {} on {}", service_.model_name(), server_.http().address());
      } else {
        load_failure_ = std::move(loaded).error();
      }
      load_ended_.store(true, std::memory_order_release);
      watch_.notify();
    });
  }

  // Exit status, or -1 when a signal asked for a drain.
  int wait_for_end() {
    for (;;) {
      const int signal = watch_.wait(kHealthInterval);
      const bool load_ended = load_ended_.load(std::memory_order_acquire);
      if (signal != 0) {
        DI_LOG_INFO("signal {}: finishing within {} ms", signal,
                    options_.config.http.shutdown_timeout.count());
        // A load cannot be interrupted, and nothing is being served yet.
        return load_ended ? -1 : end_now(base::kExitOk);
      }
      if (load_ended && !load_failure_.is_ok()) {
        DI_LOG_ERROR("cannot load the model: {}", load_failure_.message());
        return base::exit_code_of(load_failure_);
      }
      if (!load_ended && base::steady_now() > load_deadline_) {
        DI_LOG_ERROR("not ready within {} s (--startup-timeout)",
                     options_.startup_timeout.count() / 1000);
        return end_now(base::kExitStartTimeout);
      }
      if (const Status failure = service_.failure(); load_ended && !failure.is_ok()) {
        return end_after_failure(failure);
      }
    }
  }

  // The engine cannot be repaired in place. Clients get their errors, then the process ends, since
  // some hosts look at nothing else.
  int end_after_failure(const Status& failure) {
    DI_LOG_ERROR("the engine has failed: {}", failure.message());
    service_.fail(failure);
    watch_.wait(tuning_.failure_grace);
    drain_until(base::steady_now());
    return failure.reason() == kReasonEngineHung ? base::kExitHung : base::kExitFailure;
  }

  // Leaves threads that cannot be stopped to the operating system.
  [[noreturn]] static int end_now(int code) {
    // No spdlog::shutdown: the threads that go on may log.
    spdlog::default_logger()->flush();
    ::_exit(code);
  }

  int drain() {
    drain_until(base::steady_now() + options_.config.http.shutdown_timeout);
    DI_LOG_INFO("all requests have ended");
    return base::kExitOk;
  }

  // A step that hangs in a driver or a collective never comes back, and the engine cannot stop
  // before it does. Whoever waits for this process to end must not wait for that.
  [[noreturn]] void end_stuck() {
    const Status health = service_.health();
    DI_LOG_ERROR("{}; it does not stop, so the process ends without it",
                 health.is_ok() ? "the engine is still in a step" : health.message());
    end_now(health.is_ok() ? base::kExitFailure : base::kExitHung);
  }

  // Meanwhile a second signal ends the process at once.
  void drain_until(base::TimePoint deadline) {
    std::atomic<bool> drained{false};
    bool quiet = false;  // written before `drained`
    base::NamedThread drainer("di-drain", [this, deadline, &quiet, &drained] {
      quiet = server_.drain(deadline);
      if (const ServedModel* model = service_.loaded()) {
        model->llm->shutdown(deadline);
      }
      drained.store(true, std::memory_order_release);
      watch_.notify();
    });
    const base::TimePoint give_up =
        deadline + 2 * tuning_.http.abandon_timeout + tuning_.stuck_drain_grace;
    while (!drained.load(std::memory_order_acquire)) {
      const auto left = base::time_until(give_up);
      if (left.count() <= 0) {
        end_stuck();
      }
      if (const int signal = watch_.wait(std::min(left, kHealthInterval)); signal != 0) {
        DI_LOG_WARN("second signal {}: ending now", signal);
        end_now(128 + signal);
      }
    }
    if (!quiet) {
      DI_LOG_ERROR("a request does not stop, so the process ends without it");
      end_now(base::kExitFailure);
    }
  }

  const ServerOptions& options_;
  const LifecycleTuning& tuning_;
  Service& service_;
  Server& server_;
  SignalWatch watch_;
  base::TimePoint load_deadline_;
  Status load_failure_;  // written before load_ended_
  std::atomic<bool> load_ended_{false};
  base::NamedThread loader_;
};

}  // namespace

int32_t connections_within(uint64_t num_descriptors, int32_t wanted) {
  const uint64_t left = num_descriptors - std::min(num_descriptors, kOtherDescriptors);
  return static_cast<int32_t>(std::clamp<uint64_t>(left, 1, static_cast<uint64_t>(wanted)));
}

void block_signals() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
}

int serve_until_signal(const ServerOptions& options, Loader loader, std::vector<Route> extra_routes,
                       const LifecycleTuning& tuning) {
  const HttpConfig http = fit_to_descriptors(options.config.http, raise_descriptor_limit());
  Service service({.model_names = http.served_model_names,
                   .reasoning_fields = options.reasoning_fields,
                   .repeat_open_reasoning = options.repeat_open_reasoning,
                   .default_max_tokens = http.default_max_tokens});
  auto server = Server::listen(http, service, tuning.http, std::move(extra_routes));
  if (!server) {
    DI_LOG_ERROR("{}", server.error().message());
    return server.error().code() == StatusCode::kInvalidArgument ? base::kExitUsage
                                                                 : base::kExitAddress;
  }
  log_start(options, **server, (*server)->http().address());
  (*server)->start();
  return Run(options, tuning, service, **server).execute(std::move(loader));
}

}  // namespace deepinfer::server
