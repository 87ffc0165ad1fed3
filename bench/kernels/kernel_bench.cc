#include "bench/kernels/kernel_bench.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "base/thread.h"

namespace deepinfer::kernels {
namespace {

/// Sums [begin, end) of the bytes, both multiples of 256.
uint64_t read_bytes(const uint8_t* data, int64_t begin, int64_t end) {
  __m128i sum[4] = {};
  for (int64_t i = begin; i < end; i += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(data + i + 2048), _MM_HINT_T0);
    for (int64_t k = 0; k < 4; ++k) {
      sum[k] = _mm_add_epi64(sum[k],
                             _mm_load_si128(reinterpret_cast<const __m128i*>(data + i + 16 * k)));
    }
  }
  const __m128i all = _mm_add_epi64(_mm_add_epi64(sum[0], sum[1]), _mm_add_epi64(sum[2], sum[3]));
  return static_cast<uint64_t>(_mm_cvtsi128_si64(all));
}

/// CPU time of the caller when it works alone, so that a busy machine disturbs less.
double now_s(int32_t threads) {
  timespec time = {};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double measure_read_bandwidth(int32_t threads) {
  const device::Device* device = device_of("reference", threads);
  const uint8_t* data = memory_bytes();
  std::vector<double> rates;
  for (int round = 0; round < 9; ++round) {
    const double start = now_s(threads);
    parallel_for(device->context(), kMemoryBytes / 4096, 1, [&](int64_t begin, int64_t end) {
      uint64_t sum = read_bytes(data, begin * 4096, end * 4096);
      benchmark::DoNotOptimize(sum);
    });
    rates.push_back(static_cast<double>(kMemoryBytes) / (now_s(threads) - start));
  }
  std::nth_element(rates.begin(), rates.begin() + 4, rates.end());
  return rates[4];
}

}  // namespace

const uint8_t* memory_bytes() {
  static const device::Buffer kBuffer = [] {
    device::Device* device = device_of("reference", 1);
    auto buffer = device->allocate(kMemoryBytes);
    if (!buffer) {
      std::fprintf(stderr, "%s\n", buffer.error().message().c_str());
      std::exit(1);
    }
    // 0x20 .. 0x3F in every byte: normal positive numbers as F32, BF16, FP8 and FP4 alike.
    std::mt19937_64 rng(7);
    auto* words = static_cast<uint64_t*>(buffer->data());
    for (size_t i = 0; i < kMemoryBytes / 8; ++i) {
      words[i] = (rng() & 0x1F1F1F1F1F1F1F1Full) | 0x2020202020202020ull;
    }
    return std::move(*buffer);
  }();
  return static_cast<const uint8_t*>(kBuffer.data());
}

device::Device* device_of(const std::string& variant, int32_t threads) {
  static std::map<std::pair<std::string, int32_t>, std::unique_ptr<device::Device>> devices;
  auto& device = devices[{variant, threads}];
  if (!device) {
    auto made = device::make_cpu_device(variant, threads);
    if (!made) {
      return nullptr;
    }
    device = std::move(*made);
  }
  return device.get();
}

double read_bandwidth(int32_t threads) {
  static std::map<int32_t, double> rates;
  double& rate = rates[threads];
  if (rate == 0) {
    rate = measure_read_bandwidth(threads);
  }
  return rate;
}

std::vector<float> normal(int64_t count) {
  std::mt19937 rng(3);
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = distribution(rng);
  }
  return values;
}

void for_each_device(const std::function<void(const std::string&, int32_t)>& add) {
  const std::set<int32_t> counts = {1, base::usable_cpus()};
  for (const Variant& variant : cpu_variants()) {
    for (const int32_t threads : counts) {
      if (variant.supported) {
        add(std::string(variant.name), threads);
      }
    }
  }
}

void add_benchmark(const std::string& name, int32_t threads,
                   const std::function<void(benchmark::State&)>& run) {
  auto* added =
      benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(), run);
  if (threads > 1) {
    added->UseRealTime();
  }
}

void report_bytes(benchmark::State& state, double bytes, int32_t threads) {
  using benchmark::Counter;
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["of_read_limit"] =
      Counter(bytes / read_bandwidth(threads), Counter::kIsIterationInvariantRate);
}

}  // namespace deepinfer::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  deepinfer::kernels::register_linear();
  deepinfer::kernels::register_attention();
  deepinfer::kernels::register_hc_mix();
  for (const int32_t threads : {1, deepinfer::base::usable_cpus()}) {
    std::printf("read bandwidth, %d threads: %.1f GB/s\n", threads,
                deepinfer::kernels::read_bandwidth(threads) * 1e-9);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
