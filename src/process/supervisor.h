#pragma once

/// Starts the engine process, watches it, restarts it, gives up.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread.h"
#include "base/unique_fd.h"
#include "process/engine_link.h"
#include "process/engine_process.h"
#include "process/frame_socket.h"
#include "process/restart_policy.h"

namespace deepinfer::process {

/// Hears from the engine process, on the supervisor's thread, which it must not hold up.
class EngineObserver {
 public:
  virtual ~EngineObserver() = default;
  /// A new engine is ready; `link` takes requests until `on_lost`.
  virtual void on_ready(EngineLink& link) = 0;
  virtual void on_answer(AnswerMessage&& answer) = 0;
  virtual void on_outputs(OutputsMessage&& outputs) = 0;
  virtual void on_pulse(const PulseMessage& pulse) = 0;
  /// The engine is gone with all that it was asked; `why` is for clients.
  virtual void on_lost(const Status& why) = 0;
  /// Admitted requests have not ended: steps must come.
  virtual bool has_work() const = 0;
};

struct SupervisorOptions {
  /// Program and arguments of the engine process.
  std::vector<std::string> command;
  StartMessage start;
  /// Restarts within ten minutes before it gives up.
  int32_t max_restarts = 3;
  /// From a restart to ready; the first start is limited by whoever waits for it.
  std::chrono::milliseconds startup_timeout{3'600'000};
  /// Longest time without a sign of life.
  std::chrono::milliseconds hang_timeout{120'000};
};

/// Public methods are thread-safe.
class Supervisor {
 public:
  /// `observer` outlives the supervisor.
  Supervisor(SupervisorOptions options, EngineObserver& observer);
  /// Stops the engine at once.
  ~Supervisor();

  /// Starts the first engine and waits until it is ready, or says why it cannot be. Once.
  Result<ModelInfo> start();
  /// OK while an engine serves, else what happened and what is done about it.
  Status health() const;
  /// Not OK once no engine will be started any more.
  Status failure() const;
  /// Lets the engine finish until `deadline`, then ends it. Returns when it is gone.
  void stop(base::TimePoint deadline);

 private:
  struct Engine;

  void run();
  /// Runs one engine to its end and says why it ended; OK after `stop`.
  Status run_engine();
  Status serve(Engine& engine);
  Status receive(Engine& engine);
  Status handle(Engine& engine, FromEngine&& message);
  Status accept(Engine& engine, const ModelInfo& model);
  static void note_steps(Engine& engine, const LlmStats& stats);
  Status watch(Engine& engine);
  void pass_on_stop(Engine& engine);
  /// False if a stop came meanwhile.
  bool pause(std::chrono::milliseconds delay);
  std::optional<base::TimePoint> stop_deadline() const;
  void set_health(const Status& health);
  void give_up(const Status& why);

  const SupervisorOptions options_;
  EngineObserver& observer_;

  // Supervisor thread only.
  RestartPolicy policy_;
  std::optional<ModelInfo> model_;  // of the first engine

  base::UniqueFd wake_;  // an eventfd: a stop was asked for
  std::promise<Result<ModelInfo>> first_ready_;

  mutable std::mutex mutex_;
  Status health_;                        // guarded by mutex_
  Status failure_;                       // guarded by mutex_
  std::optional<base::TimePoint> stop_;  // guarded by mutex_

  std::mutex thread_mutex_;
  base::NamedThread thread_;  // guarded by thread_mutex_
};

}  // namespace deepinfer::process
