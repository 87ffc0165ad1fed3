/// An engine process over the real scheduler and a fake executor; see test_orders.h.

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/output_queue.h"
#include "process/engine_host.h"
#include "process/engine_process.h"
#include "process/frame_socket.h"
#include "scheduler/dispatcher.h"
#include "support/fake_executor.h"
#include "test_orders.h"

namespace deepinfer::process::testing {
namespace {

bool has_order(const engine::Batch& batch, TokenId order) {
  return std::any_of(batch.sequences.begin(), batch.sequences.end(), [order](const auto& sequence) {
    return sequence.start_position == 0 && !sequence.tokens.empty() &&
           sequence.tokens.front() == order;
  });
}

bool is_slow = false;

Status obey(const engine::Batch& batch) {
  if (has_order(batch, kOrderDie)) {
    ::_exit(42);
  }
  while (has_order(batch, kOrderHang)) {
    ::pause();
  }
  is_slow = is_slow || has_order(batch, kOrderBeSlow);
  if (is_slow) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return has_order(batch, kOrderFailStep) ? internal_error("ordered to fail") : Status::ok();
}

// Every request gets one output that is larger than a message may be.
class Talker final : public Llm {
 public:
  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest /*request*/) override {
    const auto queue = std::make_shared<base::OutputQueue>();
    // Three bytes each at least.
    queue->push({.probe_logits = std::vector<float>(kMaxFrameBytes / 3 + 1, 0.5F),
                 .finish = FinishReason::kStop});
    return std::unique_ptr<OutputStream>(std::make_unique<base::QueuedOutputStream>(queue, [] {}));
  }
  LlmStats stats() const override { return {}; }
  Status health() const override { return Status::ok(); }
  void shutdown(std::chrono::steady_clock::time_point /*deadline*/) override {}

 private:
  const ModelInfo model_;
};

Result<std::unique_ptr<Llm>> open(const EngineConfig& config) {
  if (config.model_dir == kModelMissing) {
    return not_found("there is no such model");
  }
  if (config.model_dir == kModelTalksTooMuch) {
    return std::unique_ptr<Llm>(std::make_unique<Talker>());
  }
  if (config.model_dir == kModelDiesLoading) {
    ::_exit(43);
  }
  static const base::SystemClock clock;
  const auto capacity = support::small_capacity(4096, 4, config.scheduler.max_num_seqs, 4000);
  return scheduler::Dispatcher::start(
      {.scheduler = config.scheduler, .seed = config.seed, .hang_timeout = config.hang_timeout},
      [capacity]() -> Result<std::unique_ptr<engine::Executor>> {
        auto executor = std::make_unique<support::FakeExecutor>(capacity);
        executor->before_step = obey;
        return std::unique_ptr<engine::Executor>(std::move(executor));
      },
      clock);
}

}  // namespace
}  // namespace deepinfer::process::testing

int main() {
  namespace process = deepinfer::process;
  process::die_with_parent();
  return process::run_engine_host(process::kEngineSocket, &process::testing::open);
}
