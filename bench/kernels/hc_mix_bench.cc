#include <string>

#include "bench/kernels/kernel_bench.h"

namespace deepinfer::kernels {
namespace {

constexpr int64_t kStreams = 4;
constexpr int64_t kHidden = 5120;
constexpr int64_t kRows = (2 + kStreams) * kStreams;

void run(benchmark::State& state, const std::string& variant, int32_t threads, int64_t tokens) {
  device::Device* device = device_of(variant, threads);
  const auto streams = normal(tokens * kStreams * kHidden);
  const auto base = normal(kRows);
  const auto scale = normal(3);
  std::vector<float> pre(static_cast<size_t>(tokens * kStreams));
  std::vector<float> post(pre.size());
  std::vector<float> comb(static_cast<size_t>(tokens * kStreams * kStreams));
  const size_t bytes = static_cast<size_t>(kRows * kStreams * kHidden) * sizeof(float);
  size_t next = 0;
  for (auto _ : state) {
    device->ops().hc_mix(device->context(),
                         {.streams = streams.data(),
                          .fn = reinterpret_cast<const float*>(memory_bytes() + next),
                          .base = base.data(),
                          .scale = scale.data(),
                          .num_tokens = tokens,
                          .num_streams = kStreams,
                          .hidden_size = kHidden,
                          .sinkhorn_iters = 20,
                          .rms_eps = 1e-20f,
                          .hc_eps = 1e-6f,
                          .pre = pre.data(),
                          .post = post.data(),
                          .comb = comb.data()});
    benchmark::DoNotOptimize(comb.data());
    next = next + 2 * bytes > kMemoryBytes ? 0 : next + bytes;
  }
  report_bytes(state, static_cast<double>(bytes), threads);
}

}  // namespace

void register_hc_mix() {
  for_each_device([](const std::string& variant, int32_t threads) {
    for (const int64_t tokens : {1, 16}) {
      add_benchmark("hc_mix/tokens:" + std::to_string(tokens) + "/" + variant, threads,
                    [=](benchmark::State& state) { run(state, variant, threads, tokens); });
    }
  });
}

}  // namespace deepinfer::kernels
