#pragma once

/// What the kernel benches share: devices by variant and thread count, inputs larger than any
/// cache, and the read bandwidth of this machine in this run.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernels/ops.h"

namespace deepinfer::kernels {

/// Bytes of the array that stands for weights in memory; far more than a last-level cache.
inline constexpr size_t kMemoryBytes = size_t{768} << 20;

/// Random bytes that are valid codes of every format, kMemoryBytes long, made once.
const uint8_t* memory_bytes();

/// A device per (variant, threads), kept for the whole run; null if unsupported.
device::Device* device_of(const std::string& variant, int32_t threads);

/// Bytes per second that `threads` threads read from memory_bytes(), measured once: the median
/// of nine passes.
double read_bandwidth(int32_t threads);

/// Random normal numbers.
std::vector<float> normal(int64_t count);

/// Calls `add(variant, threads)` for every supported variant with one and with all CPUs.
void for_each_device(const std::function<void(const std::string&, int32_t)>& add);

/// Registers `name`/threads:N. One thread is timed by its CPU time, several by the clock.
void add_benchmark(const std::string& name, int32_t threads,
                   const std::function<void(benchmark::State&)>& run);

/// Sets the counters GB/s and share of the read bandwidth for `bytes` read per iteration.
void report_bytes(benchmark::State& state, double bytes, int32_t threads);

void register_linear();
void register_attention();
void register_hc_mix();

}  // namespace deepinfer::kernels
