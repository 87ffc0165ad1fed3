#pragma once

/// The one door to the engine. The front end knows nothing behind it, so a scripted engine
/// fits in tests and a child process in production.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer {

/// Facts about the loaded model that the front end needs. Constant after open.
struct ModelInfo {
  int32_t vocab_size = 0;
  /// Longest sequence, prompt and output together.
  int32_t max_model_len = 0;
  std::vector<TokenId> eos_token_ids;
  /// Names what could change output: model, kernels, version.
  std::string system_fingerprint;

  bool operator==(const ModelInfo&) const = default;
};

/// A snapshot; cheap to take, never blocks a step.
struct LlmStats {
  int32_t num_running = 0;
  int32_t num_waiting = 0;
  int64_t num_waiting_prompt_tokens = 0;
  int32_t blocks_used = 0;
  int32_t blocks_total = 0;
  uint64_t steps = 0;
  uint64_t prompt_tokens = 0;
  uint64_t generation_tokens = 0;
  /// Of these, generated after their client had left: at most one step per cancel.
  uint64_t abandoned_tokens = 0;
  uint64_t preemptions = 0;
  uint64_t finished_stop = 0;
  uint64_t finished_length = 0;
  uint64_t finished_abort = 0;
  uint64_t finished_error = 0;
  uint64_t refused = 0;
  /// Seconds since a step last completed; negative before the first.
  double last_step_age_s = -1.0;
};

/// Reasons (`Status::reason`) of an engine that can do no more work.
inline constexpr const char* kReasonEngineFailed = "engine_failed";
inline constexpr const char* kReasonEngineHung = "engine_hung";

/// Nothing new within the timeout.
struct StreamTimeout {};
/// The output with `finish` was already handed out.
struct StreamEnd {};
using StreamEvent = std::variant<TokenOutput, StreamTimeout, StreamEnd>;

/// The output of one request. One consumer thread. Destroying it before its end cancels the
/// request: it leaves the schedule no later than the next step.
class OutputStream {
 public:
  virtual ~OutputStream() = default;
  /// Everything that has arrived since the last call (several steps are joined into one
  /// output), or waits up to `timeout` for something.
  virtual StreamEvent wait_for(std::chrono::milliseconds timeout) = 0;
  /// For readers of many streams: calls `wake` whenever something arrives, and at once if
  /// something is there already, until the stream is destroyed. `wake` runs on a thread of the
  /// engine and must neither wait nor touch the stream. False, and nothing is called, where output
  /// is made only while its reader waits for it.
  virtual bool on_output(const std::function<void()>& /*wake*/) { return false; }
};

/// A running engine. All methods are thread-safe.
class Llm {
 public:
  virtual ~Llm() = default;

  /// Loads `config.model_dir` and starts the engine in this process. kNotFound or
  /// kFailedPrecondition name the file or tensor at fault; kResourceExhausted says how much
  /// memory was missing. Returns after a self-test token came out of every rank.
  static Result<std::unique_ptr<Llm>> open(const EngineConfig& config);

  virtual const ModelInfo& model() const = 0;
  /// Admits a request. kInvalidArgument for a request that can never run;
  /// kResourceExhausted (reason `server_overloaded`) when the queue is full; kUnavailable
  /// while draining or after an engine fault.
  virtual Result<std::unique_ptr<OutputStream>> submit(GenerateRequest request) = 0;
  virtual LlmStats stats() const = 0;
  /// OK while the engine can make progress, else why not.
  virtual Status health() const = 0;
  /// Not OK once the engine cannot come back; reason kReasonEngineHung if it hung.
  virtual Status failure() const { return health(); }
  /// Refuses new requests, lets the others finish until `deadline`, then aborts what is left
  /// and stops the engine. Returns when everything has stopped. Idempotent.
  virtual void shutdown(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace deepinfer
