#include "tests/kernels/kernel_test.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace deepinfer::kernels {

void KernelTest::SetUp() {
  for (const Variant& variant : cpu_variants()) {
    if (variant.name == GetParam() && !variant.supported) {
      GTEST_SKIP() << "this machine lacks " << variant.missing;
    }
  }
  auto selected = select_cpu_ops(GetParam());
  ASSERT_TRUE(selected) << selected.error().message();
  ops = selected->ops;
  threaded.pool = &pool_;
  threaded.parallel_for = [](void* pool, int64_t count, int64_t, OpContext::RangeFn fn, void* arg) {
    // A grain of one: the smallest pieces that can happen.
    static_cast<device::ThreadPool*>(pool)->run(count, 1, fn, arg);
  };
}

std::vector<float> KernelTest::normal(int64_t count, double scale) {
  std::normal_distribution<double> distribution(0.0, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(distribution(rng));
  }
  return values;
}

std::vector<uint16_t> KernelTest::normal_bf16(int64_t count, double scale) {
  std::vector<uint16_t> values;
  for (const float value : normal(count, scale)) {
    values.push_back(bf16_bits(value));
  }
  return values;
}

int64_t KernelTest::integer(int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const Variant& variant : cpu_variants()) {
    names.emplace_back(variant.name);
  }
  return names;
}

double bf16_value(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t bf16_bits(double value) {
  const auto narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return static_cast<uint16_t>(bits >> 16);
}

double e4m3_value(uint8_t code) {
  const int exponent = (code >> 3) & 15;
  const double mantissa = (code & 7) / 8.0;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -6) : std::ldexp(1 + mantissa, exponent - 7);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

double e2m1_value(uint8_t code) {
  // 1 sign, 2 exponent (bias 1), 1 mantissa bit.
  const int exponent = (code >> 1) & 3;
  const double mantissa = (code & 1) / 2.0;
  const double magnitude = exponent == 0 ? mantissa : (1 + mantissa) * std::pow(2.0, exponent - 1);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

TestWeight::TestWeight(DType dtype, int32_t scale_rows, int64_t total_rows, int64_t cols,
                       std::mt19937& rng)
    : dtype_(dtype),
      scale_rows_(scale_rows),
      total_rows_(total_rows),
      cols_(cols),
      codes_(dtype_bytes(dtype, total_rows * cols)) {
  std::uniform_int_distribution<int> byte(0, 255);
  std::normal_distribution<float> number;
  const int64_t count = total_rows * cols;
  for (int64_t i = 0; i < count; ++i) {
    if (dtype == DType::kF32) {
      const float value = number(rng);
      std::memcpy(&codes_[static_cast<size_t>(i) * 4], &value, 4);
    } else if (dtype == DType::kBF16) {
      const uint16_t value = bf16_bits(number(rng));
      std::memcpy(&codes_[static_cast<size_t>(i) * 2], &value, 2);
    } else if (dtype == DType::kF8E4M3) {
      auto code = static_cast<uint8_t>(byte(rng));
      codes_[static_cast<size_t>(i)] = (code & 0x7F) == 0x7F ? uint8_t{0} : code;
    } else {
      codes_[static_cast<size_t>(i) / 2] = static_cast<uint8_t>(byte(rng));
    }
  }
  if (scale_rows > 0) {
    const int64_t rows = (total_rows + scale_rows - 1) / scale_rows;
    scales_.resize(static_cast<size_t>(rows * ((cols + 31) / 32)));
    for (uint8_t& scale : scales_) {
      scale = static_cast<uint8_t>(117 + byte(rng) % 12);
    }
  }
}

WeightView TestWeight::view(int64_t begin, int64_t rows) const {
  WeightView weight;
  weight.data = codes_.data();
  weight.scale = scale_rows_ > 0 ? scales_.data() : nullptr;
  weight.dtype = dtype_;
  weight.scale_rows = scale_rows_ > 0 ? scale_rows_ : 1;
  weight.rows = total_rows_;
  weight.cols = cols_;
  return weight.slice_rows(begin, rows);
}

double TestWeight::at(int64_t row, int64_t col) const {
  const auto i = static_cast<size_t>(row * cols_ + col);
  double code = 0;
  if (dtype_ == DType::kF32) {
    float value = 0;
    std::memcpy(&value, &codes_[i * 4], 4);
    code = value;
  } else if (dtype_ == DType::kBF16) {
    uint16_t bits = 0;
    std::memcpy(&bits, &codes_[i * 2], 2);
    code = bf16_value(bits);
  } else if (dtype_ == DType::kF8E4M3) {
    code = e4m3_value(codes_[i]);
  } else {
    code = e2m1_value(col % 2 == 0 ? codes_[i / 2] & 15 : codes_[i / 2] >> 4);
  }
  if (scale_rows_ == 0) {
    return code;
  }
  const auto tile = static_cast<size_t>(row / scale_rows_ * ((cols_ + 31) / 32) + col / 32);
  return std::ldexp(code, static_cast<int>(scales_[tile]) - 127);
}

void expect_close(const std::vector<float>& got, const std::vector<double>& want,
                  double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * std::max(1.0, std::abs(want[i]))) << "element " << i;
  }
}

TestStep::TestStep(std::vector<Part> parts_in) : parts(std::move(parts_in)) {
  for (const Part& part : parts) {
    SequenceView sequence;
    sequence.state_slot = part.state_slot;
    sequence.token_begin = static_cast<int32_t>(positions.size());
    sequence.num_tokens = part.num_tokens;
    sequence.start_position = part.start_position;
    sequence.block_table = part.blocks.data();
    for (int32_t i = 0; i < part.num_tokens; ++i) {
      token_sequence.push_back(static_cast<int32_t>(sequences.size()));
      positions.push_back(part.start_position + i);
    }
    sequences.push_back(sequence);
  }
}

StepView TestStep::view() const {
  StepView step;
  step.sequences = sequences.data();
  step.num_sequences = static_cast<int32_t>(sequences.size());
  step.num_tokens = static_cast<int32_t>(positions.size());
  step.token_sequence = token_sequence.data();
  step.positions = positions.data();
  return step;
}

}  // namespace deepinfer::kernels
