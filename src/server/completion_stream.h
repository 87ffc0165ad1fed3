#pragma once

/// One request from admission to its last token: the outputs of all its choices, joined into
/// the events of its protocol.

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "deepinfer/llm.h"
#include "protocol/completion.h"
#include "server/raw_output_log.h"

namespace deepinfer::server {

/// One thread. Destroying it cancels what still runs.
class CompletionStream {
 public:
  enum class State { kRunning, kDone, kFailed };
  /// Asked between outputs; anything but OK ends the request with that failure.
  using Interrupted = std::function<Status()>;

  /// Submits every choice. If one is refused, those before it are cancelled.
  static Result<std::unique_ptr<CompletionStream>> submit(Llm& llm,
                                                          protocol::PreparedCompletion prepared,
                                                          Interrupted interrupted,
                                                          RawOutputLog log);

  /// Runs until there are events, the request is done or failed, or `until` has come. Appends
  /// the events; the closing ones come with kDone.
  State advance(base::TimePoint until, std::vector<protocol::Event>& events);

  /// Why the state is kFailed.
  const Status& failure() const { return failure_; }
  /// Times of the first choice, as far as they are known.
  const RequestTimings& timings() const { return timings_; }
  protocol::ResponseAssembler& assembler() { return *assembler_; }

 private:
  CompletionStream(std::unique_ptr<protocol::ResponseAssembler> assembler,
                   std::vector<std::unique_ptr<OutputStream>> outputs, Interrupted interrupted,
                   RawOutputLog log);

  void poll(size_t choice, std::chrono::milliseconds wait, std::vector<protocol::Event>& events);
  void take(size_t choice, const TokenOutput& output, std::vector<protocol::Event>& events);
  size_t next_open_choice();
  void fail(Status status);

  std::unique_ptr<protocol::ResponseAssembler> assembler_;
  /// Null once the choice is done.
  std::vector<std::unique_ptr<OutputStream>> outputs_;
  Interrupted interrupted_;
  RawOutputLog log_;
  State state_ = State::kRunning;
  Status failure_;
  RequestTimings timings_;
  size_t num_open_;
  size_t turn_ = 0;
};

}  // namespace deepinfer::server
