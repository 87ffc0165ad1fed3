// Host time of a decode step apart from the model: `schedule` (planning) and `update` with
// `take_outputs` (taking in results). Sequences of 8 K tokens and more, every one decoding.
// The time reported is CPU time of the thread, so that a busy machine does not show in it.

#include <benchmark/benchmark.h>

#include <ctime>

#include "base/check.h"
#include "scheduler/scheduler.h"

namespace deepinfer::scheduler {
namespace {

constexpr int32_t kPromptTokens = 8192;
constexpr int32_t kMaxModelLen = 16384;
constexpr int32_t kBlockSize = 64;

engine::ExecutorCapacity capacity(int32_t num_sequences) {
  return {.num_blocks = num_sequences * (kMaxModelLen / kBlockSize),
          .block_size = kBlockSize,
          .num_slots = num_sequences,
          .max_model_len = kMaxModelLen,
          .vocab_size = 1000,
          .eos_token_ids = {0},
          .fingerprint = "bench"};
}

SchedulerConfig config(int32_t num_sequences) {
  SchedulerConfig result;
  result.max_num_seqs = num_sequences;
  result.max_num_batched_tokens = num_sequences * kPromptTokens;
  return result;
}

engine::StepOutput make_output(const engine::Batch& batch) {
  engine::StepOutput output{.step = batch.step, .sequences = {}};
  for (const engine::BatchSequence& sequence : batch.sequences) {
    if (sequence.sampling) {
      output.sequences.emplace_back();
      output.sequences.back().id = sequence.id;
      output.sequences.back().tokens = {7};
    }
  }
  return output;
}

// Submits one request per place and runs their prompts.
void fill(Scheduler& scheduler, int32_t num_sequences, SequenceId& last_id) {
  for (int32_t i = 0; i < num_sequences; ++i) {
    GenerateRequest request;
    request.prompt.assign(kPromptTokens, 1);
    request.max_tokens = kMaxModelLen;
    DI_CHECK(scheduler.add(++last_id, std::move(request), 0, {}).is_ok());
  }
  const engine::Batch prompts = scheduler.schedule({});
  DI_CHECK(scheduler.update(make_output(prompts), {}).is_ok());
  scheduler.take_outputs();
}

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

enum class Part { kPlan, kTakeIn };

void decode_step(benchmark::State& state, Part measured) {
  const auto num_sequences = static_cast<int32_t>(state.range(0));
  Scheduler scheduler(config(num_sequences), capacity(num_sequences));
  SequenceId last_id = 0;
  for (auto _ : state) {
    if (!scheduler.has_work()) {
      state.PauseTiming();
      fill(scheduler, num_sequences, last_id);
      state.ResumeTiming();
    }
    const double start = thread_cpu_s();
    const engine::Batch batch = scheduler.schedule({});
    const double planned = thread_cpu_s();
    const engine::StepOutput output = make_output(batch);
    const double computed = thread_cpu_s();
    DI_CHECK(scheduler.update(output, {}).is_ok());
    benchmark::DoNotOptimize(scheduler.take_outputs());
    const double done = thread_cpu_s();
    state.SetIterationTime(measured == Part::kPlan ? planned - start : done - computed);
  }
  state.SetComplexityN(num_sequences);
}

void plan_decodes(benchmark::State& state) {
  decode_step(state, Part::kPlan);
}
void take_in_results(benchmark::State& state) {
  decode_step(state, Part::kTakeIn);
}

BENCHMARK(plan_decodes)
    ->RangeMultiplier(2)
    ->Range(16, 512)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Complexity(benchmark::oN);
BENCHMARK(take_in_results)
    ->RangeMultiplier(2)
    ->Range(16, 512)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Complexity(benchmark::oN);

}  // namespace
}  // namespace deepinfer::scheduler

BENCHMARK_MAIN();
