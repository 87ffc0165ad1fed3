#pragma once

/// An engine that plays a script: given tokens after given delays, or a failure. It keeps the
/// promises of `Llm` (admission, cancel by destruction, limits, drain) without a model.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "constraint/constraint.h"
#include "deepinfer/llm.h"

namespace deepinfer::testing {

/// One output of the engine.
struct ScriptStep {
  std::vector<TokenId> tokens;
  /// Wait before it, counted from the step before.
  std::chrono::milliseconds delay{0};
  /// Ends the request with kError.
  std::optional<Status> failure;
  /// Comes again and again until `max_tokens`.
  bool repeat = false;
};

/// What one request gets. After the last step the model's EOS ends it.
struct Script {
  std::vector<ScriptStep> steps;
  /// Not OK: `submit` fails with it.
  Status refusal;
};

struct ScriptedCounts {
  int running = 0;
  int waiting = 0;
  int submitted = 0;
  int finished = 0;
  /// Streams destroyed before their end.
  int cancelled = 0;
  /// Of those, the ones that never ran.
  int cancelled_waiting = 0;
  int refused = 0;
};

struct ScriptedLimits {
  int max_running = 256;
  int max_waiting = 1024;
};

/// Thread-safe. Outlives its streams.
class ScriptedLlm final : public Llm {
 public:
  using ScriptFor = std::function<Script(const GenerateRequest&)>;

  /// With `compiler`, a script that breaks its request's constraint ends with kError.
  ScriptedLlm(ModelInfo model, ScriptedLimits limits, ScriptFor script_for,
              std::shared_ptr<constraint::ConstraintCompiler> compiler = nullptr);
  ~ScriptedLlm() override;

  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest request) override;
  LlmStats stats() const override;
  Status health() const override;
  void shutdown(std::chrono::steady_clock::time_point deadline) override;

  ScriptedCounts counts() const;
  /// Waits until `condition` holds; false if it did not within `timeout`.
  bool wait_until(const std::function<bool(const ScriptedCounts&)>& condition,
                  std::chrono::milliseconds timeout = std::chrono::seconds(20)) const;
  /// What the last admitted request asked.
  std::vector<TokenId> last_prompt() const;
  /// What `health` says from now on.
  void set_health(Status status);

 private:
  class Stream;
  struct Sequence;

  void promote_locked();
  void leave_locked(Sequence& sequence);

  const ModelInfo model_;
  const ScriptedLimits limits_;
  const ScriptFor script_for_;
  const std::shared_ptr<constraint::ConstraintCompiler> compiler_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  std::list<Sequence*> waiting_;
  ScriptedCounts counts_;
  std::vector<TokenId> last_prompt_;
  LlmStats totals_;
  Status health_;
  std::chrono::steady_clock::time_point last_step_;
  bool draining_ = false;
  bool aborting_ = false;
};

}  // namespace deepinfer::testing
