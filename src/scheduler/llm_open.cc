// Llm::open: the engine of this process, from a model directory.

#include <spdlog/fmt/fmt.h>

#include "base/clock.h"
#include "deepinfer/llm.h"
#include "engine/model_runner.h"
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

}  // namespace

Result<std::unique_ptr<Llm>> Llm::open(const EngineConfig& config) {
  DI_TRY(validate(config));
  DI_TRY(check_parallel(config.parallel));
  static const base::SystemClock clock;
  return scheduler::Dispatcher::start(
      {.scheduler = config.scheduler, .seed = config.seed, .hang_timeout = config.hang_timeout},
      [config] { return engine::ModelRunner::create(config); }, clock);
}

}  // namespace deepinfer
