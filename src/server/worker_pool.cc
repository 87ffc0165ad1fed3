#include "server/worker_pool.h"

#include <cstring>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace deepinfer::server {

WorkerPool::WorkerPool(const WorkerLimits& limits) : limits_(limits) {
  const std::lock_guard lock(mutex_);
  start_thread_locked();
}

WorkerPool::~WorkerPool() {
  std::vector<pthread_t> finished;
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    work_.notify_all();
    changed_.wait(lock, [this] { return threads_ == 0; });
    finished.swap(finished_);
  }
  join_finished(finished);
}

void WorkerPool::submit(Job job) {
  std::vector<pthread_t> finished;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
    if (static_cast<size_t>(waiting_) >= queue_.size()) {
      work_.notify_one();
    } else if (threads_ < limits_.max_jobs + limits_.reserve) {
      start_thread_locked();
    }
    finished.swap(finished_);
  }
  join_finished(finished);
}

bool WorkerPool::wait_idle(base::TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return queue_.empty() && running_ == 0; });
}

// If the system gives no thread, the job waits for one of the others: one is always there.
void WorkerPool::start_thread_locked() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, limits_.stack_bytes);
  pthread_t thread{};
  const int error = pthread_create(&thread, &attributes, &WorkerPool::thread_entry, this);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    DI_LOG_ERROR("cannot start worker thread {}: {}", threads_ + 1, std::strerror(error));
    return;
  }
  ++threads_;
}

void* WorkerPool::thread_entry(void* self) {
  base::set_thread_name("di-http");
  static_cast<WorkerPool*>(self)->work();
  return nullptr;
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++waiting_;
    const bool called =
        work_.wait_for(lock, limits_.idle_timeout, [this] { return stop_ || !queue_.empty(); });
    --waiting_;
    if (queue_.empty() && stop_) {
      break;
    }
    if (queue_.empty() && !called) {
      if (threads_ > 1) {
        break;
      }
      continue;
    }
    Job job = std::move(queue_.front());
    queue_.pop_front();
    const bool shed = ++running_ > limits_.max_jobs;
    lock.unlock();
    try {
      job(shed);
    } catch (const std::exception& error) {
      DI_LOG_ERROR("a request handler threw: {}", error.what());
    }
    job = nullptr;
    lock.lock();
    --running_;
    changed_.notify_all();
  }
  --threads_;
  finished_.push_back(pthread_self());
  changed_.notify_all();
}

void WorkerPool::join_finished(const std::vector<pthread_t>& finished) {
  for (const pthread_t thread : finished) {
    pthread_join(thread, nullptr);
  }
}

}  // namespace deepinfer::server
