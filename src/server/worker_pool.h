#pragma once

/// Threads that run requests, made when needed. Beyond the normal number a small reserve runs
/// jobs in shed mode, so that health is answered however busy the rest is.

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace deepinfer::server {

struct WorkerLimits {
  /// Jobs that run normally at the same time.
  int max_jobs = 8192;
  /// Threads beyond that, for jobs in shed mode.
  int reserve = 16;
  /// Handlers keep no large objects on the stack, so thousands of threads stay cheap.
  size_t stack_bytes = size_t{256} * 1024;
  /// A thread without work for this long ends, the last one excepted.
  std::chrono::milliseconds idle_timeout{10'000};
};

/// All methods are thread-safe, the destructor excepted.
class WorkerPool {
 public:
  /// `shed`: the job must answer at once and refuse everything that takes time.
  using Job = std::function<void(bool shed)>;

  /// Starts the first thread, which stays.
  explicit WorkerPool(const WorkerLimits& limits);
  /// Runs what is queued, then ends all threads.
  ~WorkerPool();

  void submit(Job job);
  /// Waits until nothing runs or waits; false if that is not so at `deadline`.
  bool wait_idle(base::TimePoint deadline);

 private:
  static void* thread_entry(void* self);
  void work();
  void start_thread_locked();
  void join_finished(const std::vector<pthread_t>& finished);

  const WorkerLimits limits_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::deque<Job> queue_;
  std::vector<pthread_t> finished_;
  int threads_ = 0;
  int waiting_ = 0;
  int running_ = 0;
  bool stop_ = false;
};

}  // namespace deepinfer::server
