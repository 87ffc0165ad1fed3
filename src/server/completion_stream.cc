#include "server/completion_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;

// How long a client that left can go unnoticed.
constexpr milliseconds kSlice{50};
// The choices of one request are looked at in turn while one of them is waited for.
constexpr milliseconds kSliceOfMany{5};

Status fault_of(const TokenOutput& output) {
  if (output.finish == FinishReason::kError) {
    return output.error.is_ok() ? internal_error("the engine failed") : output.error;
  }
  return unavailable("the server is shutting down").with_reason(std::string(kReasonDraining));
}

}  // namespace

Result<std::unique_ptr<CompletionStream>> CompletionStream::submit(
    Llm& llm, protocol::PreparedCompletion prepared, Interrupted interrupted, RawOutputLog log) {
  std::vector<std::unique_ptr<OutputStream>> outputs;
  for (GenerateRequest& request : prepared.requests) {
    DI_ASSIGN(std::unique_ptr<OutputStream> output, llm.submit(std::move(request)));
    outputs.push_back(std::move(output));
  }
  return std::unique_ptr<CompletionStream>(new CompletionStream(
      std::move(prepared.assembler), std::move(outputs), std::move(interrupted), std::move(log)));
}

CompletionStream::CompletionStream(std::unique_ptr<protocol::ResponseAssembler> assembler,
                                   std::vector<std::unique_ptr<OutputStream>> outputs,
                                   Interrupted interrupted, RawOutputLog log)
    : assembler_(std::move(assembler)),
      outputs_(std::move(outputs)),
      interrupted_(std::move(interrupted)),
      log_(std::move(log)),
      num_open_(outputs_.size()) {}

CompletionStream::State CompletionStream::advance(base::TimePoint until,
                                                  std::vector<protocol::Event>& events) {
  while (state_ == State::kRunning && events.empty()) {
    if (Status status = interrupted_(); !status.is_ok()) {
      fail(std::move(status));
      break;
    }
    const milliseconds left = base::time_until(until);
    const milliseconds slice = num_open_ > 1 ? kSliceOfMany : kSlice;
    poll(next_open_choice(), std::clamp(left, milliseconds{0}, slice), events);
    for (size_t choice = 0; choice < outputs_.size(); ++choice) {
      if (state_ == State::kRunning && outputs_[choice] != nullptr) {
        poll(choice, milliseconds{0}, events);
      }
    }
    if (state_ == State::kRunning && num_open_ == 0) {
      state_ = State::kDone;
      auto closing = assembler_->finish();
      std::move(closing.begin(), closing.end(), std::back_inserter(events));
    }
    if (left.count() <= 0) {
      break;
    }
  }
  return state_;
}

// An open choice, another one each time.
size_t CompletionStream::next_open_choice() {
  do {
    turn_ = (turn_ + 1) % outputs_.size();
  } while (outputs_[turn_] == nullptr);
  return turn_;
}

void CompletionStream::poll(size_t choice, milliseconds wait,
                            std::vector<protocol::Event>& events) {
  const StreamEvent event = outputs_[choice]->wait_for(wait);
  if (const auto* output = std::get_if<TokenOutput>(&event)) {
    take(choice, *output, events);
  } else if (std::holds_alternative<StreamEnd>(event)) {
    fail(internal_error("the engine ended a request without a finish reason"));
  }
}

void CompletionStream::take(size_t choice, const TokenOutput& output,
                            std::vector<protocol::Event>& events) {
  if (choice == 0) {
    timings_ = output.timings;
  }
  log_.add(choice, output.tokens);
  if (output.finish == FinishReason::kError || output.finish == FinishReason::kAbort) {
    fail(fault_of(output));
    return;
  }
  auto new_events = assembler_->push(static_cast<int32_t>(choice), output);
  std::move(new_events.begin(), new_events.end(), std::back_inserter(events));
  if (assembler_->choice_done(static_cast<int32_t>(choice))) {
    log_.end(choice);
    outputs_[choice].reset();
    --num_open_;
  }
}

void CompletionStream::fail(Status status) {
  state_ = State::kFailed;
  failure_ = std::move(status);
  for (size_t choice = 0; choice < outputs_.size(); ++choice) {
    log_.end(choice);
  }
  outputs_.clear();
}

}  // namespace deepinfer::server
