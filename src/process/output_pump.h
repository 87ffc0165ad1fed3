#pragma once

/// The outputs of all requests on their way into one stream of messages.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/thread.h"
#include "deepinfer/llm.h"
#include "process/message.h"

namespace deepinfer::process {

/// Sends what a step produced as one message. Never holds up the engine: while a message is being
/// sent, outputs wait in their streams and are joined. Thread-safe.
class OutputPump {
 public:
  using Send = std::function<void(OutputsMessage&&)>;

  explicit OutputPump(Send send);
  /// Cancels what is left.
  ~OutputPump();

  /// Takes over a stream until its end or its cancel.
  void add(RequestNumber number, std::unique_ptr<OutputStream> stream);
  /// Drops the stream, which cancels its request.
  void cancel(RequestNumber number);
  /// Waits until the last output of every stream has been sent.
  void wait_until_empty();

 private:
  void run();
  void collect(RequestNumber number, OutputsMessage& message);

  const Send send_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. A stream is shared while the pump reads it.
  std::unordered_map<RequestNumber, std::shared_ptr<OutputStream>> streams_;
  bool sending_ = false;
  bool closed_ = false;

  std::mutex ready_mutex_;  // taken by the engine's threads, never together with mutex_
  std::condition_variable ready_changed_;
  std::vector<RequestNumber> ready_;  // guarded by ready_mutex_
  bool ready_closed_ = false;         // guarded by ready_mutex_

  base::NamedThread thread_;
};

}  // namespace deepinfer::process
