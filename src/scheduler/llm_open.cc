// Llm::open: the engine of this process, from a model directory.

#include <spdlog/fmt/fmt.h>

#include "base/clock.h"
#include "base/log.h"
#include "deepinfer/llm.h"
#include "engine/model_runner.h"
#include "model/token_map.h"
#include "scheduler/dispatcher.h"

namespace deepinfer {
namespace {

constexpr int32_t kNumDevices = 1;

Status check_parallel(const ParallelConfig& wanted) {
  DI_ASSIGN(const ParallelConfig sizes, resolve_parallel(wanted, kNumDevices));
  if (sizes.expert != kNumDevices) {
    return unimplemented(
        fmt::format("this version runs one rank; --data-parallel-size {} times "
                    "--context-parallel-size {} is --expert-parallel-size {}",
                    sizes.data, sizes.context, sizes.expert));
  }
  return Status::ok();
}

// Constraints need the tokens' bytes; a checkpoint without a tokenizer is served without them.
std::unique_ptr<constraint::ConstraintCompiler> make_compiler(
    const EngineConfig& config, const engine::ExecutorCapacity& capacity) {
  auto tokens = model::load_token_bytes(
      config.tokenizer_dir.empty() ? config.model_dir : config.tokenizer_dir, capacity.vocab_size);
  if (!tokens) {
    DI_LOG_WARN("no structured output: {}", tokens.error().message());
    return nullptr;
  }
  const constraint::Vocabulary vocabulary{.tokens = *std::move(tokens),
                                          .stop_tokens = capacity.eos_token_ids};
  return std::make_unique<constraint::ConstraintCompiler>(vocabulary,
                                                          constraint::CompilerOptions{});
}

}  // namespace

Result<std::unique_ptr<Llm>> Llm::open(const EngineConfig& config) {
  DI_TRY(validate(config));
  DI_TRY(check_parallel(config.parallel));
  static const base::SystemClock clock;
  return scheduler::Dispatcher::start(
      {.scheduler = config.scheduler, .seed = config.seed, .hang_timeout = config.hang_timeout},
      [config] { return engine::ModelRunner::create(config); }, clock,
      [&config](const engine::ExecutorCapacity& capacity) {
        return make_compiler(config, capacity);
      });
}

}  // namespace deepinfer
