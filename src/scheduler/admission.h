#pragma once

/// How many requests a rank may owe.

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer::scheduler {

/// Counts requests from admission until the engine confirms that they are gone; a client that
/// leaves frees nothing by itself. Thread-safe.
class Admission {
 public:
  /// `max_running`: requests that run at once.
  Admission(const SchedulerConfig& config, int32_t max_running);

  /// Takes a place for a request. kResourceExhausted (reason `server_overloaded`) if running
  /// and queue are full, or if prompts already wait and this one would exceed
  /// `max_num_queued_tokens`; kUnavailable once closed.
  Status admit(int64_t prompt_tokens);
  /// The request left the queue: it runs, or ended before it ran.
  void leave_queue(int64_t prompt_tokens);
  /// The engine has ended the request and freed what it held.
  void release();

  /// Refuses everything from now on.
  void close();
  /// Waits until no request is open. False if some are at `deadline`.
  bool wait_until_empty(base::TimePoint deadline);

  int32_t num_open() const;
  int32_t num_queued() const;
  int64_t num_queued_tokens() const;

 private:
  const int32_t max_open_;
  const int64_t max_queued_tokens_;

  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  bool closed_ = false;            // guarded by mutex_
  int32_t num_open_ = 0;           // guarded by mutex_
  int32_t num_queued_ = 0;         // guarded by mutex_
  int64_t num_queued_tokens_ = 0;  // guarded by mutex_
};

}  // namespace deepinfer::scheduler
