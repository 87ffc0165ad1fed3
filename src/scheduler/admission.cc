#include "scheduler/admission.h"

#include <spdlog/fmt/fmt.h>

namespace deepinfer::scheduler {
namespace {

Status overloaded(std::string message) {
  return resource_exhausted(std::move(message)).with_reason("server_overloaded");
}

}  // namespace

Admission::Admission(const SchedulerConfig& config, int32_t max_running)
    : max_open_(max_running + config.max_num_queued_reqs),
      max_queued_tokens_(config.max_num_queued_tokens) {}

Status Admission::admit(int64_t prompt_tokens) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return unavailable("the engine is shutting down");
  }
  if (num_open_ >= max_open_) {
    return overloaded(fmt::format(
        "the server is overloaded: {} requests run or wait, no more are taken", num_open_));
  }
  // What waits alone is always admitted: it may be longer than the limit.
  if (num_queued_ > 0 && num_queued_tokens_ + prompt_tokens > max_queued_tokens_) {
    return overloaded(
        fmt::format("the server is overloaded: {} prompt tokens wait, {} more would exceed {}",
                    num_queued_tokens_, prompt_tokens, max_queued_tokens_));
  }
  ++num_open_;
  ++num_queued_;
  num_queued_tokens_ += prompt_tokens;
  return Status::ok();
}

void Admission::leave_queue(int64_t prompt_tokens) {
  const std::lock_guard lock(mutex_);
  --num_queued_;
  num_queued_tokens_ -= prompt_tokens;
}

void Admission::release() {
  {
    const std::lock_guard lock(mutex_);
    if (--num_open_ > 0) {
      return;
    }
  }
  emptied_.notify_all();
}

void Admission::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool Admission::wait_until_empty(base::TimePoint deadline) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_until(lock, deadline, [this] { return num_open_ == 0; });
}

int32_t Admission::num_open() const {
  const std::lock_guard lock(mutex_);
  return num_open_;
}

int32_t Admission::num_queued() const {
  const std::lock_guard lock(mutex_);
  return num_queued_;
}

int64_t Admission::num_queued_tokens() const {
  const std::lock_guard lock(mutex_);
  return num_queued_tokens_;
}

}  // namespace deepinfer::scheduler
