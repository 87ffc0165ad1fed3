#include <cmath>
#include <numeric>
#include <string>

#include "bench/kernels/kernel_bench.h"

namespace deepinfer::kernels {
namespace {

// The released model's shape: 64 heads of 512 channels, a window of 128, 512 selected entries.
constexpr int64_t kHeads = 64;
constexpr int64_t kDim = 512;
constexpr int32_t kWindow = 128;
constexpr int32_t kTopK = 512;
constexpr int64_t kIndexHeads = 32;
constexpr int64_t kIndexDim = 128;
constexpr int32_t kContext = 8192;

/// One sequence with kContext tokens behind it and `tokens` new ones.
struct Step {
  explicit Step(int64_t tokens) : token_sequence(static_cast<size_t>(tokens)), positions(tokens) {
    sequence.num_tokens = static_cast<int32_t>(tokens);
    sequence.start_position = kContext;
    sequence.block_table = &block;
    std::iota(positions.begin(), positions.end(), kContext);
  }
  StepView view() const {
    StepView step;
    step.sequences = &sequence;
    step.num_sequences = 1;
    step.num_tokens = static_cast<int32_t>(positions.size());
    step.token_sequence = token_sequence.data();
    step.positions = positions.data();
    return step;
  }
  int32_t block = 0;
  SequenceView sequence;
  std::vector<int32_t> token_sequence;
  std::vector<int32_t> positions;
};

void report_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void run_attention(benchmark::State& state, const std::string& variant, int32_t threads,
                   int64_t tokens) {
  device::Device* device = device_of(variant, threads);
  const Step step(tokens);
  const auto q = normal(tokens * kHeads * kDim);
  const auto sink = normal(kHeads);
  const auto step_keys = normal(tokens * kDim);
  const auto ring = normal(kWindow * kDim);
  const auto entries = normal(kContext * kDim);
  std::vector<int32_t> selected(static_cast<size_t>(tokens * kTopK));
  for (size_t i = 0; i < selected.size(); ++i) {
    selected[i] = static_cast<int32_t>(i % kTopK * (kContext / kTopK));
  }
  const std::vector<int32_t> count(static_cast<size_t>(tokens), kTopK);
  std::vector<float> out(q.size());
  for (auto _ : state) {
    device->ops().sparse_attention(device->context(), {.step = step.view(),
                                                       .q = q.data(),
                                                       .num_heads = kHeads,
                                                       .head_dim = kDim,
                                                       .scale = 1 / std::sqrt(512.0f),
                                                       .sink = sink.data(),
                                                       .step_keys = step_keys.data(),
                                                       .ring = ring.data(),
                                                       .ring_size = kWindow,
                                                       .window = kWindow,
                                                       .entries = entries.data(),
                                                       .entries_per_block = kContext,
                                                       .selected = selected.data(),
                                                       .selected_stride = kTopK,
                                                       .selected_count = count.data(),
                                                       .out = out.data()});
    benchmark::DoNotOptimize(out.data());
  }
  report_flops(state, 4.0 * static_cast<double>(tokens * kHeads * kDim * (kWindow + kTopK)));
}

void run_index_scores(benchmark::State& state, const std::string& variant, int32_t threads,
                      int64_t tokens) {
  device::Device* device = device_of(variant, threads);
  const Step step(tokens);
  const auto q = normal(tokens * kIndexHeads * kIndexDim);
  const auto weights = normal(tokens * kIndexHeads);
  const auto keys = normal(kContext * kIndexDim);
  const std::vector<int32_t> visible(static_cast<size_t>(tokens), kContext);
  std::vector<float> scores(static_cast<size_t>(tokens * kContext));
  for (auto _ : state) {
    device->ops().index_scores(device->context(),
                               {step.view(), q.data(), weights.data(), kIndexHeads, kIndexDim,
                                keys.data(), kContext, visible.data(), scores.data(), kContext});
    benchmark::DoNotOptimize(scores.data());
  }
  report_flops(state, 2.0 * static_cast<double>(tokens * kIndexHeads * kIndexDim * kContext));
}

}  // namespace

void register_attention() {
  for_each_device([](const std::string& variant, int32_t threads) {
    for (const int64_t tokens : {1, 16}) {
      const std::string suffix = "/tokens:" + std::to_string(tokens) + "/" + variant;
      add_benchmark("sparse_attention" + suffix, threads, [=](benchmark::State& state) {
        run_attention(state, variant, threads, tokens);
      });
      add_benchmark("index_scores" + suffix, threads, [=](benchmark::State& state) {
        run_index_scores(state, variant, threads, tokens);
      });
    }
  });
}

}  // namespace deepinfer::kernels
