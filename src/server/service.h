#pragma once

/// What the server can do at the moment: load, serve, drain or nothing. Shared by the loader, the
/// signal handling and every request; reading it never waits for any of them.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "deepinfer/llm.h"
#include "protocol/completion.h"
#include "recipe/recipe.h"

namespace deepinfer::server {

/// Steps of a start, in order.
enum class Phase { kConfig, kWeights, kKernels, kWarmup, kServing };
std::string_view to_string(Phase phase);

/// What serving needs; constant once published.
struct ServedModel {
  std::unique_ptr<recipe::Recipe> recipe;
  std::unique_ptr<Llm> llm;
  protocol::ServiceInfo info;
  /// Seconds since 1970.
  int64_t created_s = 0;
};

/// All methods are thread-safe.
class Service {
 public:
  /// `info` holds everything but the model, with one name at least.
  explicit Service(protocol::ServiceInfo info);

  void set_phase(Phase phase) { phase_.store(phase, std::memory_order_relaxed); }
  /// Publishes the loaded model and opens for requests. Once.
  void start_serving(std::unique_ptr<recipe::Recipe> recipe, std::unique_ptr<Llm> llm);
  /// New work is refused from now on.
  void begin_drain() { draining_.store(true, std::memory_order_relaxed); }
  /// The engine can do no more work; `reason` is what probes are told.
  void fail(const Status& reason);

  /// The loaded model, whatever else is the case; null while loading.
  const ServedModel* loaded() const { return published_.load(std::memory_order_acquire); }
  /// The model for new work; kUnavailable with its reason while loading, draining or failed.
  Result<const ServedModel*> ready() const;

  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }
  /// Not OK after `fail`, or when the engine says so itself.
  Status health() const;
  /// Not OK after `fail`, or when the engine cannot come back.
  Status failure() const;
  /// Counts arguments of tool calls that were announced as JSON and were not.
  void add_invalid_arguments(uint32_t count) const {
    invalid_arguments_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t invalid_arguments() const { return invalid_arguments_.load(std::memory_order_relaxed); }
  const std::string& model_name() const { return info_.model_names.front(); }
  double uptime_s() const;

 private:
  Status own_failure() const;

  const protocol::ServiceInfo info_;
  const base::TimePoint started_;
  std::atomic<Phase> phase_{Phase::kConfig};
  std::atomic<bool> draining_{false};
  std::atomic<const ServedModel*> published_{nullptr};
  mutable std::atomic<uint64_t> invalid_arguments_{0};
  std::unique_ptr<ServedModel> model_;  // written once, before published_
  mutable std::mutex mutex_;
  Status failure_;  // guarded by mutex_
};

}  // namespace deepinfer::server
