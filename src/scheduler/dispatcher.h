#pragma once

/// The in-process engine: admits requests and hands them to its rank.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/metrics.h"
#include "constraint/constraint.h"
#include "deepinfer/llm.h"
#include "scheduler/admission.h"
#include "scheduler/rank_loop.h"

namespace deepinfer::scheduler {

/// Makes the compiler of constraints for an engine; null if it cannot enforce any.
using CompilerFactory =
    std::function<std::unique_ptr<constraint::ConstraintCompiler>(const engine::ExecutorCapacity&)>;

/// Implements `Llm` over one rank. Requests are checked against the model here, so nothing a
/// client sends can fail a step.
class Dispatcher final : public Llm {
 public:
  struct Options {
    SchedulerConfig scheduler;
    /// Seed of requests that bring none; each gets its own from it.
    uint64_t seed = 0;
    /// A step that takes longer makes `health` fail.
    std::chrono::milliseconds hang_timeout = EngineConfig().hang_timeout;
  };

  /// Makes the executor on its rank's thread and waits for its self-test token.
  static Result<std::unique_ptr<Llm>> start(const Options& options, ExecutorFactory make_executor,
                                            const base::Clock& clock,
                                            const CompilerFactory& make_compiler = {});
  ~Dispatcher() override;

  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest request) override;
  LlmStats stats() const override;
  Status health() const override;
  void shutdown(std::chrono::steady_clock::time_point deadline) override;

 private:
  Dispatcher(const Options& options, const base::Clock& clock);

  using Compiled = std::optional<constraint::CompiledConstraint>;

  Result<Compiled> compile(const GenerateRequest& request);
  Result<std::unique_ptr<OutputStream>> admit(GenerateRequest request, Compiled constraint);

  // Constant once started.
  const Options options_;
  const base::Clock& clock_;
  ModelInfo model_;
  int32_t blocks_total_ = 0;
  std::unique_ptr<constraint::ConstraintCompiler> compiler_;

  // Thread-safe by themselves.
  base::Counter refused_;
  std::atomic<bool> stopped_{false};
  Admission admission_;
  RankLoop rank_;

  /// Makes admitting and queueing one act, so that nothing is queued behind an abort of all.
  std::mutex submit_mutex_;
  SequenceId next_id_ = 1;  // guarded by submit_mutex_
};

}  // namespace deepinfer::scheduler
