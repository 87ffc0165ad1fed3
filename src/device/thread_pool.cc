#include "device/thread_pool.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace deepinfer::device {
namespace {

constexpr int kPieceBits = 16;
constexpr uint64_t kPieceMask = (uint64_t{1} << kPieceBits) - 1;
// Some tens of microseconds of `pause`.
constexpr int32_t kSpinLimit = 1500;

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int32_t num_threads)
    // With more threads than CPUs a spinning thread takes the CPU from a working one.
    : num_threads_(num_threads), spin_limit_(num_threads <= base::usable_cpus() ? kSpinLimit : 0) {
  DI_CHECK(num_threads >= 1 && num_threads <= kMaxThreads);
  workers_.reserve(static_cast<size_t>(num_threads - 1));
  try {
    for (int32_t index = 1; index < num_threads; ++index) {
      workers_.emplace_back("kernel-" + std::to_string(index),
                            [this, index] { worker_loop(index); });
    }
  } catch (...) {
    stop();  // no destructor runs, and joining threads that wait for work would never end
    throw;
  }
}

ThreadPool::~ThreadPool() {
  stop();
}

void ThreadPool::stop() {
  stopping_.store(true);
  publish(0);
  workers_.clear();
}

void ThreadPool::run(int64_t count, int64_t grain, RangeFn fn, void* arg) {
  if (count <= 0) {
    return;
  }
  const int64_t num_pieces =
      std::min<int64_t>(num_threads_, std::max<int64_t>(1, count / std::max<int64_t>(1, grain)));
  if (num_pieces == 1) {
    fn(arg, 0, count);
    return;
  }
  count_ = count;
  fn_ = fn;
  arg_ = arg;
  pending_.store(static_cast<int32_t>(num_pieces - 1), std::memory_order_relaxed);
  publish(num_pieces);
  run_piece(0, num_pieces);
  wait_until_done();
}

void ThreadPool::publish(int64_t num_pieces) {
  const uint64_t number = (ticket_.load(std::memory_order_relaxed) >> kPieceBits) + 1;
  ticket_.store((number << kPieceBits) | static_cast<uint64_t>(num_pieces));
  if (sleepers_.load() > 0) {
    const std::lock_guard lock(mutex_);
    work_.notify_all();
  }
}

void ThreadPool::run_piece(int32_t index, int64_t num_pieces) {
  fn_(arg_, count_ * index / num_pieces, count_ * (index + 1) / num_pieces);
}

void ThreadPool::worker_loop(int32_t index) {
  uint64_t seen = 0;
  while (true) {
    seen = wait_for_ticket(seen);
    if (stopping_.load()) {
      return;
    }
    const auto num_pieces = static_cast<int64_t>(seen & kPieceMask);
    if (index < num_pieces) {
      run_piece(index, num_pieces);
      finish_piece();
    }
  }
}

uint64_t ThreadPool::wait_for_ticket(uint64_t seen) {
  for (int32_t i = 0; i < spin_limit_; ++i) {
    const uint64_t ticket = ticket_.load(std::memory_order_acquire);
    if (ticket != seen) {
      return ticket;
    }
    pause_cpu();
  }
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  work_.wait(lock, [&] { return ticket_.load() != seen; });
  sleepers_.fetch_sub(1);
  return ticket_.load();
}

void ThreadPool::finish_piece() {
  if (pending_.fetch_sub(1) == 1 && caller_sleeps_.load()) {
    const std::lock_guard lock(mutex_);
    done_.notify_one();
  }
}

void ThreadPool::wait_until_done() {
  for (int32_t i = 0; i < spin_limit_; ++i) {
    if (pending_.load(std::memory_order_acquire) == 0) {
      return;
    }
    pause_cpu();
  }
  std::unique_lock lock(mutex_);
  caller_sleeps_.store(true);
  done_.wait(lock, [&] { return pending_.load() == 0; });
  caller_sleeps_.store(false);
}

}  // namespace deepinfer::device
