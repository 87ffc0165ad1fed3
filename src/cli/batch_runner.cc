#include "cli/batch_runner.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"

namespace deepinfer::cli {
namespace {

// How long to sit on the oldest stream before the others are looked at again.
constexpr std::chrono::milliseconds kPollInterval{20};

struct Running {
  size_t index;
  std::unique_ptr<OutputStream> stream;
  Generation generation;
};

class Batch {
 public:
  Batch(Llm& llm, std::vector<Result<GenerateRequest>> requests, int32_t max_in_flight,
        const BatchCallbacks& callbacks)
      : llm_(llm),
        requests_(std::move(requests)),
        outcomes_(requests_.size()),
        max_in_flight_(static_cast<size_t>(max_in_flight)),
        callbacks_(callbacks) {
    progress_.requests_total = static_cast<int64_t>(requests_.size());
  }

  void run() {
    while (next_out_ < requests_.size()) {
      submit_what_fits();
      poll();
      hand_out();
      callbacks_.on_progress(progress_);
    }
  }

 private:
  void submit_what_fits() {
    while (next_in_ < requests_.size() && running_.size() < max_in_flight_) {
      Result<GenerateRequest>& request = requests_[next_in_];
      if (!request.has_value()) {
        finish(next_in_++, request.error());
        continue;
      }
      // A copy: a refused request is submitted again.
      Result<std::unique_ptr<OutputStream>> stream = llm_.submit(*request);
      if (stream.has_value()) {
        running_.push_back({next_in_++, std::move(stream).value(), {}});
      } else if (stream.error().code() == StatusCode::kResourceExhausted && !running_.empty()) {
        return;  // Full: a finished one makes room.
      } else {
        finish(next_in_++, stream.error());
      }
    }
  }

  void poll() {
    std::chrono::milliseconds timeout = kPollInterval;
    for (Running& running : running_) {
      take(running, running.stream->wait_for(timeout));
      timeout = std::chrono::milliseconds{0};
    }
    std::erase_if(running_, [this](const Running& r) { return outcomes_[r.index].has_value(); });
  }

  void take(Running& running, StreamEvent event) {
    if (std::holds_alternative<StreamEnd>(event)) {
      finish(running.index, internal_error("the engine ended the stream without a finish reason"));
      return;
    }
    auto* output = std::get_if<TokenOutput>(&event);
    if (output == nullptr) {
      return;
    }
    Generation& generation = running.generation;
    progress_.tokens_generated += static_cast<int64_t>(output->tokens.size());
    generation.tokens.insert(generation.tokens.end(), output->tokens.begin(), output->tokens.end());
    generation.usage = output->usage;
    const std::vector<TokenId>& probed = requests_[running.index]->probe_logits;
    for (size_t i = 0; i < output->probe_logits.size(); ++i) {
      generation.probe_logits.emplace_back(probed.at(i), output->probe_logits[i]);
    }
    if (output->finish == FinishReason::kError) {
      finish(running.index, output->error);
    } else if (output->finish.has_value()) {
      generation.finish = *output->finish;
      finish(running.index, std::move(generation));
    }
  }

  void finish(size_t index, Outcome outcome) {
    DI_CHECK(!outcomes_[index].has_value());
    outcomes_[index] = std::move(outcome);
    ++progress_.requests_done;
  }

  void hand_out() {
    for (; next_out_ < outcomes_.size() && outcomes_[next_out_].has_value(); ++next_out_) {
      callbacks_.on_outcome(next_out_, *outcomes_[next_out_]);
      outcomes_[next_out_] = Outcome(Generation{});  // frees what was handed out
    }
  }

  Llm& llm_;
  std::vector<Result<GenerateRequest>> requests_;
  std::vector<std::optional<Outcome>> outcomes_;
  const size_t max_in_flight_;
  const BatchCallbacks& callbacks_;
  std::vector<Running> running_;
  size_t next_in_ = 0;
  size_t next_out_ = 0;
  BatchProgress progress_;
};

}  // namespace

void run_batch(Llm& llm, std::vector<Result<GenerateRequest>> requests, int32_t max_in_flight,
               const BatchCallbacks& callbacks) {
  DI_CHECK(max_in_flight > 0);
  Batch(llm, std::move(requests), max_in_flight, callbacks).run();
}

}  // namespace deepinfer::cli
