#pragma once

/// The way of one request's output from its rank to its client.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "deepinfer/llm.h"
#include "scheduler/rank_inbox.h"

namespace deepinfer::scheduler {

/// Between a rank and one client. Holds at most what the request may generate: outputs that
/// were not fetched are joined into one, so the rank never waits for a client. Thread-safe.
class OutputQueue {
 public:
  /// Adds what a step produced. Rank thread.
  void push(TokenOutput&& output);
  /// See OutputStream::wait_for. Client thread.
  StreamEvent wait_for(std::chrono::milliseconds timeout);
  /// The output with `finish` was pushed.
  bool finished() const;
  /// The client has left: what is pushed from now on is for nobody.
  void abandon() { abandoned_.store(true, std::memory_order_relaxed); }
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  TokenOutput pending_;       // guarded by mutex_
  bool has_pending_ = false;  // guarded by mutex_
  bool finished_ = false;     // guarded by mutex_
  std::atomic<bool> abandoned_{false};
};

/// The client's end. Queue and inbox are shared once per request, so that the stream may
/// outlive the engine; nothing is counted per token.
class QueuedOutputStream final : public OutputStream {
 public:
  QueuedOutputStream(SequenceId id, std::shared_ptr<OutputQueue> output,
                     std::shared_ptr<RankInbox> inbox);
  /// Queues a cancel unless the request has finished.
  ~QueuedOutputStream() override;

  StreamEvent wait_for(std::chrono::milliseconds timeout) override;

 private:
  const SequenceId id_;
  const std::shared_ptr<OutputQueue> output_;
  const std::shared_ptr<RankInbox> inbox_;
};

}  // namespace deepinfer::scheduler
