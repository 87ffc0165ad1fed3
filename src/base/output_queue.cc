#include "base/output_queue.h"

#include <iterator>
#include <utility>

namespace deepinfer::base {
namespace {

template <typename T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void OutputQueue::push(TokenOutput&& output) {
  {
    const std::lock_guard lock(mutex_);
    finished_ = finished_ || output.finish.has_value();
    if (!has_pending_) {
      pending_ = std::move(output);
      has_pending_ = true;
    } else {
      append(pending_.tokens, std::move(output.tokens));
      append(pending_.logprobs, std::move(output.logprobs));
      append(pending_.probe_logits, std::move(output.probe_logits));
      pending_.finish = output.finish;
      pending_.error = std::move(output.error);
      pending_.usage = output.usage;
      pending_.timings = output.timings;
    }
    // Under the lock, so that a reader that has left is not woken any more.
    if (wake_) {
      wake_();
    }
  }
  arrived_.notify_one();
}

void OutputQueue::on_output(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
  if (has_pending_ || finished_) {
    wake_();
  }
}

StreamEvent OutputQueue::wait_for(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, timeout, [this] { return has_pending_ || finished_; });
  if (has_pending_) {
    has_pending_ = false;
    return std::exchange(pending_, {});
  }
  return finished_ ? StreamEvent(StreamEnd{}) : StreamEvent(StreamTimeout{});
}

bool OutputQueue::abandon() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  abandoned_.store(!finished_, std::memory_order_relaxed);
  return !finished_;
}

QueuedOutputStream::~QueuedOutputStream() {
  if (queue_->abandon()) {
    cancel_();
  }
}

}  // namespace deepinfer::base
