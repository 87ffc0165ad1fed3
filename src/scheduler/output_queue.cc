#include "scheduler/output_queue.h"

#include <iterator>
#include <utility>

namespace deepinfer::scheduler {
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
  }
  arrived_.notify_one();
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

bool OutputQueue::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

QueuedOutputStream::QueuedOutputStream(SequenceId id, std::shared_ptr<OutputQueue> output,
                                       std::shared_ptr<RankInbox> inbox)
    : id_(id), output_(std::move(output)), inbox_(std::move(inbox)) {}

QueuedOutputStream::~QueuedOutputStream() {
  if (!output_->finished()) {
    output_->abandon();
    // Full is impossible (the inbox has room for a submit and a cancel of every open request);
    // closed means that the engine has ended every request.
    static_cast<void>(inbox_->try_push(CancelCommand{.id = id_}));
  }
}

StreamEvent QueuedOutputStream::wait_for(std::chrono::milliseconds timeout) {
  return output_->wait_for(timeout);
}

}  // namespace deepinfer::scheduler
