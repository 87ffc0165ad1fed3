#include "process/output_pump.h"

#include <chrono>
#include <utility>

#include "base/check.h"

namespace deepinfer::process {

OutputPump::OutputPump(Send send)
    : send_(std::move(send)), thread_("di-outputs", [this] { run(); }) {}

OutputPump::~OutputPump() {
  {
    const std::lock_guard lock(ready_mutex_);
    ready_closed_ = true;
  }
  ready_changed_.notify_all();
  thread_.join();
  streams_.clear();  // from here on nobody is told of output
}

void OutputPump::add(RequestNumber number, std::unique_ptr<OutputStream> stream) {
  const std::shared_ptr<OutputStream> shared = std::move(stream);
  {
    const std::lock_guard lock(mutex_);
    streams_.emplace(number, shared);
  }
  const bool tells = shared->on_output([this, number] {
    bool first = false;
    {
      const std::lock_guard lock(ready_mutex_);
      first = ready_.empty();
      ready_.push_back(number);
    }
    if (first) {
      ready_changed_.notify_one();
    }
  });
  DI_CHECK(tells);
}

void OutputPump::cancel(RequestNumber number) {
  std::shared_ptr<OutputStream> dropped;
  const std::lock_guard lock(mutex_);
  if (const auto found = streams_.find(number); found != streams_.end()) {
    dropped = std::move(found->second);
    streams_.erase(found);
    changed_.notify_all();
  }
}

void OutputPump::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return streams_.empty() && !sending_; });
}

void OutputPump::run() {
  for (;;) {
    std::vector<RequestNumber> ready;
    {
      std::unique_lock lock(ready_mutex_);
      ready_changed_.wait(lock, [this] { return ready_closed_ || !ready_.empty(); });
      if (ready_closed_) {
        return;
      }
      ready.swap(ready_);
    }
    {
      const std::lock_guard lock(mutex_);
      sending_ = true;
    }
    OutputsMessage message;
    for (const RequestNumber number : ready) {
      collect(number, message);
    }
    if (!message.outputs.empty()) {
      send_(std::move(message));
    }
    {
      const std::lock_guard lock(mutex_);
      sending_ = false;
    }
    changed_.notify_all();
  }
}

void OutputPump::collect(RequestNumber number, OutputsMessage& message) {
  std::shared_ptr<OutputStream> stream;
  {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(number);
    if (found == streams_.end()) {
      return;  // cancelled, or ended by an earlier look
    }
    stream = found->second;
  }
  StreamEvent event = stream->wait_for(std::chrono::milliseconds(0));
  auto* output = std::get_if<TokenOutput>(&event);
  if (output == nullptr) {
    return;  // an earlier look took it along
  }
  const bool last = output->finish.has_value();
  message.outputs.emplace_back(number, std::move(*output));
  if (last) {
    const std::lock_guard lock(mutex_);
    streams_.erase(number);
  }
}

}  // namespace deepinfer::process
