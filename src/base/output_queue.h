#pragma once

/// The way of one request's output from whoever makes it to its one reader.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "deepinfer/llm.h"

namespace deepinfer::base {

/// Holds at most what the request may generate: outputs that were not fetched are joined into
/// one, so the writer never waits for the reader. Thread-safe.
class OutputQueue {
 public:
  /// Adds what a step produced. Writer.
  void push(TokenOutput&& output);
  /// See OutputStream::wait_for. Reader.
  StreamEvent wait_for(std::chrono::milliseconds timeout);
  /// See OutputStream::on_output. Reader.
  void on_output(std::function<void()> wake);
  /// The reader has left: nobody is woken any more, and what is pushed from now on is for nobody.
  /// False if everything has been pushed already.
  bool abandon();
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  TokenOutput pending_;         // guarded by mutex_
  bool has_pending_ = false;    // guarded by mutex_
  bool finished_ = false;       // guarded by mutex_
  std::function<void()> wake_;  // guarded by mutex_
  std::atomic<bool> abandoned_{false};
};

/// The reader's end. The queue is shared once per request, so that the stream may outlive the
/// engine; nothing is counted per token.
class QueuedOutputStream final : public OutputStream {
 public:
  /// `cancel` is called by the destructor unless the request has finished. It must not wait.
  QueuedOutputStream(std::shared_ptr<OutputQueue> queue, std::function<void()> cancel)
      : queue_(std::move(queue)), cancel_(std::move(cancel)) {}
  ~QueuedOutputStream() override;

  StreamEvent wait_for(std::chrono::milliseconds timeout) override {
    return queue_->wait_for(timeout);
  }
  bool on_output(const std::function<void()>& wake) override {
    queue_->on_output(wake);
    return true;
  }

 private:
  const std::shared_ptr<OutputQueue> queue_;
  const std::function<void()> cancel_;
};

}  // namespace deepinfer::base
