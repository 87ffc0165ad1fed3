#pragma once

/// What the kernel tests share: a fixture that runs a test once per variant of this build, random
/// inputs, and weights with decoders of their own in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "device/thread_pool.h"
#include "kernels/ops.h"
#include "kernels/select.h"

namespace deepinfer::kernels {

/// `ops` is the table of the variant under test; variants that this machine cannot run are
/// skipped with the reason.
class KernelTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  OpTable ops;
  /// Runs everything in the calling thread.
  OpContext serial;
  /// Three threads, however many CPUs there are.
  OpContext threaded;
  std::mt19937 rng{20240607};

  std::vector<float> normal(int64_t count, double scale = 1.0);
  std::vector<uint16_t> normal_bf16(int64_t count, double scale = 1.0);
  int64_t integer(int64_t low, int64_t high);

 private:
  device::ThreadPool pool_{3};
};

/// The names of all variants, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> variant_names();

/// Runs the tests of `suite` once per variant.
#define DI_FOR_EACH_VARIANT(suite)                                              \
  INSTANTIATE_TEST_SUITE_P(Variants, suite, testing::ValuesIn(variant_names()), \
                           [](const auto& param_info) { return param_info.param; })

double bf16_value(uint16_t bits);
uint16_t bf16_bits(double value);
/// Spelled out from the format's definition: sign, exponent, mantissa.
double e4m3_value(uint8_t code);
double e2m1_value(uint8_t code);

/// A weight matrix with random codes (no NaN), and its elements in double precision.
class TestWeight {
 public:
  /// `scale_rows` 0: no scales.
  TestWeight(DType dtype, int32_t scale_rows, int64_t total_rows, int64_t cols, std::mt19937& rng);

  /// Rows [begin, begin + rows) as the kernels see them.
  WeightView view(int64_t begin, int64_t rows) const;
  WeightView view() const { return view(0, total_rows_); }
  double at(int64_t row, int64_t col) const;

  std::vector<uint8_t>& codes() { return codes_; }
  std::vector<uint8_t>& scales() { return scales_; }

 private:
  DType dtype_;
  int32_t scale_rows_;
  int64_t total_rows_;
  int64_t cols_;
  std::vector<uint8_t> codes_;
  std::vector<uint8_t> scales_;
};

/// |got - want| <= tolerance * max(1, |want|) for every element.
void expect_close(const std::vector<float>& got, const std::vector<double>& want, double tolerance);

/// A step of several sequences: the arrays behind a StepView.
struct TestStep {
  struct Part {
    int32_t start_position;
    int32_t num_tokens;
    std::vector<int32_t> blocks;
    int32_t state_slot;
  };
  explicit TestStep(std::vector<Part> parts_in);
  TestStep(const TestStep&) = delete;
  TestStep& operator=(const TestStep&) = delete;
  StepView view() const;

  std::vector<Part> parts;
  std::vector<SequenceView> sequences;
  std::vector<int32_t> token_sequence;
  std::vector<int32_t> positions;
};

}  // namespace deepinfer::kernels
