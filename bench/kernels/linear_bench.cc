#include <string>

#include "bench/kernels/kernel_bench.h"

namespace deepinfer::kernels {
namespace {

struct Format {
  const char* name;
  DType dtype;
  int32_t scale_rows;
};

constexpr Format kFormats[] = {
    {"fp8", DType::kF8E4M3, 32}, {"fp4", DType::kF4E2M1, 1}, {"bf16", DType::kBF16, 1}};

struct Shape {
  int64_t rows, cols;
};

/// Every iteration takes the next matrix of an array larger than the caches, as a model's layers
/// follow each other.
void run(benchmark::State& state, const std::string& variant, int32_t threads, Format format,
         Shape shape, int64_t tokens) {
  device::Device* device = device_of(variant, threads);
  const auto x = normal(tokens * shape.cols);
  std::vector<float> out(static_cast<size_t>(tokens * shape.rows));
  const std::vector<uint8_t> scales(static_cast<size_t>(shape.rows * shape.cols / 32), 120);
  const size_t bytes = dtype_bytes(format.dtype, shape.rows * shape.cols);
  LinearProblem problem;
  problem.x = x.data();
  problem.x_stride = shape.cols;
  problem.num_tokens = tokens;
  problem.weight.scale = format.dtype == DType::kBF16 ? nullptr : scales.data();
  problem.weight.dtype = format.dtype;
  problem.weight.scale_rows = format.scale_rows;
  problem.weight.rows = shape.rows;
  problem.weight.cols = shape.cols;
  problem.out = out.data();
  problem.out_stride = shape.rows;
  size_t next = 0;
  for (auto _ : state) {
    problem.weight.data = memory_bytes() + next;
    device->ops().linear(device->context(), {.problems = &problem, .num_problems = 1});
    benchmark::DoNotOptimize(out.data());
    next = next + 2 * bytes > kMemoryBytes ? 0 : next + bytes;
  }
  report_bytes(state, static_cast<double>(bytes), threads);
  const double flops = 2.0 * static_cast<double>(shape.rows * shape.cols * tokens);
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void register_linear() {
  for_each_device([](const std::string& variant, int32_t threads) {
    for (const Format& format : kFormats) {
      for (const Shape shape : {Shape{2048, 2048}, Shape{5120, 1280}, Shape{1280, 5120}}) {
        for (const int64_t tokens : {1, 2, 4, 16, 64, 512}) {
          // The reference needs a second for the large ones and shows nothing new.
          if (variant == "reference" && tokens > 16) {
            continue;
          }
          const std::string name = "linear/" + std::string(format.name) + "/" +
                                   std::to_string(shape.rows) + "x" + std::to_string(shape.cols) +
                                   "/tokens:" + std::to_string(tokens) + "/" + variant;
          add_benchmark(name, threads, [=](benchmark::State& state) {
            run(state, variant, threads, format, shape, tokens);
          });
        }
      }
    }
  });
}

}  // namespace deepinfer::kernels
