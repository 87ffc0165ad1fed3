#pragma once

/// The kernel threads of a CPU device: fork-join over a range, nothing else.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/thread.h"
#include "kernels/ops.h"

namespace deepinfer::device {

/// `num_threads` threads, the caller included. Idle threads spin for some tens of microseconds,
/// which covers the gap between two ops of a step, and then sleep.
class ThreadPool {
 public:
  using RangeFn = kernels::OpContext::RangeFn;

  /// `num_threads` in [1, kMaxThreads]. Throws std::system_error if the system gives fewer.
  explicit ThreadPool(int32_t num_threads);
  /// Joins the threads. No `run` may be in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls `fn(arg, begin, end)` once per piece of [0, count), pieces having at least `grain`
  /// elements; returns when all calls have returned, and their writes are visible then. Pieces
  /// depend on count, grain and the number of threads only. One caller at a time; not from
  /// inside `fn`.
  void run(int64_t count, int64_t grain, RangeFn fn, void* arg);

  int32_t num_threads() const { return num_threads_; }

  static constexpr int32_t kMaxThreads = 1024;

 private:
  void stop();
  void worker_loop(int32_t index);
  uint64_t wait_for_ticket(uint64_t seen);
  void run_piece(int32_t index, int64_t num_pieces);
  void finish_piece();
  void wait_until_done();
  void publish(int64_t num_pieces);

  // Constant after construction.
  const int32_t num_threads_;
  const int32_t spin_limit_;

  // The job. Written by the caller before it publishes a ticket, read only by the threads that
  // take part in that ticket; the caller waits for these before it writes again.
  int64_t count_ = 0;
  RangeFn fn_ = nullptr;
  void* arg_ = nullptr;

  // Job number in the upper bits, number of pieces in the lower ones, so that a thread sees in
  // one load whether a new job concerns it.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<int32_t> pending_{0};
  std::atomic<bool> stopping_{false};

  // Sleeping: `sleepers_` and `caller_sleeps_` tell the other side that a notification is
  // needed; the mutex closes the gap between their check and the wait.
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> caller_sleeps_{false};

  std::vector<base::NamedThread> workers_;
};

}  // namespace deepinfer::device
