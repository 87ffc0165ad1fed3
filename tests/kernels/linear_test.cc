#include <algorithm>

#include "tests/kernels/kernel_test.h"

namespace deepinfer::kernels {
namespace {

class LinearTest : public KernelTest {
 protected:
  struct Case {
    DType dtype;
    int32_t scale_rows;
  };
  static constexpr Case kFormats[] = {
      {DType::kF32, 0},    {DType::kBF16, 0},   {DType::kF8E4M3, 32}, {DType::kF8E4M3, 1},
      {DType::kF8E4M3, 0}, {DType::kF4E2M1, 1}, {DType::kF4E2M1, 0},
  };

  /// Compares one product with double precision; the bound is relative to sum |x * w|.
  void check(const TestWeight& weight, int64_t row_begin, int64_t rows, int64_t cols,
             int64_t tokens, const OpContext& context) {
    const int64_t x_stride = cols + 3;
    const int64_t out_stride = rows + 2;
    const auto x = normal(tokens * x_stride);
    std::vector<float> out(static_cast<size_t>(tokens * out_stride), 77.0f);
    LinearProblem problem;
    problem.x = x.data();
    problem.x_stride = x_stride;
    problem.num_tokens = tokens;
    problem.weight = weight.view(row_begin, rows);
    problem.out = out.data();
    problem.out_stride = out_stride;
    ops.linear(context, {.problems = &problem, .num_problems = 1});
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t n = 0; n < out_stride; ++n) {
        const float got = out[static_cast<size_t>(t * out_stride + n)];
        if (n >= rows) {
          ASSERT_EQ(got, 77.0f) << "written beyond the row";
          continue;
        }
        double want = 0;
        double magnitude = 0;
        for (int64_t k = 0; k < cols; ++k) {
          const double term = static_cast<double>(x[static_cast<size_t>(t * x_stride + k)]) *
                              weight.at(row_begin + n, k);
          want += term;
          magnitude += std::abs(term);
        }
        ASSERT_NEAR(got, want, 2e-6 * magnitude) << "token " << t << " row " << n;
      }
    }
  }
};

TEST_P(LinearTest, MatchesDoublePrecisionForOddShapes) {
  for (const Case& format : kFormats) {
    for (const int64_t cols : {2, 30, 32, 34, 64, 96, 126, 544, 1090}) {
      for (const int64_t rows : {1, 3, 4, 33, 70}) {
        const TestWeight weight(format.dtype, format.scale_rows, rows, cols, rng);
        for (const int64_t tokens : {1, 2, 3, 4, 5, 9}) {
          SCOPED_TRACE(testing::Message()
                       << "dtype " << static_cast<int>(format.dtype) << " " << format.scale_rows
                       << " " << rows << "x" << cols << " tokens " << tokens);
          check(weight, 0, rows, cols, tokens, threaded);
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

TEST_P(LinearTest, MatchesDoublePrecisionBeyondOneBlock) {
  for (const Case& format : {Case{DType::kF8E4M3, 32}, Case{DType::kF4E2M1, 1}}) {
    const TestWeight weight(format.dtype, format.scale_rows, 70, 1100, rng);
    check(weight, 0, 70, 1100, 130, threaded);
    const TestWeight wide(format.dtype, format.scale_rows, 5, 9000, rng);
    for (const int64_t tokens : {1, 2, 4}) {
      check(wide, 0, 5, 9000, tokens, serial);
    }
  }
}

TEST_P(LinearTest, KeepsTilePhaseOfRowSlices) {
  const TestWeight weight(DType::kF8E4M3, 32, 130, 96, rng);
  for (const int64_t begin : {1, 31, 32, 50}) {
    for (const int64_t rows : {1, 2, 31, 64, 80}) {
      for (const int64_t tokens : {1, 3, 20}) {
        check(weight, begin, rows, 96, tokens, serial);
      }
    }
  }
}

TEST_P(LinearTest, DecodesEveryE4m3Code) {
  TestWeight weight(DType::kF8E4M3, 0, 256, 32, rng);
  std::fill(weight.codes().begin(), weight.codes().end(), uint8_t{0});
  for (size_t code = 0; code < 256; ++code) {
    weight.codes()[code * 32 + code % 32] = static_cast<uint8_t>(code);
  }
  const std::vector<float> x(8 * 32, 1.0f);
  for (const int64_t tokens : {1, 8}) {
    std::vector<float> out(static_cast<size_t>(tokens) * 256);
    LinearProblem problem;
    problem.x = x.data();
    problem.x_stride = 32;
    problem.num_tokens = tokens;
    problem.weight = weight.view();
    problem.out = out.data();
    problem.out_stride = 256;
    ops.linear(serial, {.problems = &problem, .num_problems = 1});
    for (size_t code = 0; code < 256; ++code) {
      if ((code & 0x7F) == 0x7F) {
        continue;  // NaN, refused when a checkpoint is loaded
      }
      EXPECT_EQ(out[code], static_cast<float>(e4m3_value(static_cast<uint8_t>(code)))) << code;
    }
  }
}

TEST_P(LinearTest, DecodesEveryE2m1CodeInItsNibble) {
  TestWeight weight(DType::kF4E2M1, 1, 256, 32, rng);
  std::fill(weight.codes().begin(), weight.codes().end(), uint8_t{0});
  std::fill(weight.scales().begin(), weight.scales().end(), uint8_t{128});
  for (size_t byte = 0; byte < 256; ++byte) {
    weight.codes()[byte * 16 + byte % 16] = static_cast<uint8_t>(byte);
  }
  // Two tokens: one sees the even columns, the other the odd ones.
  std::vector<float> x(8 * 32);
  for (size_t k = 0; k < 32; ++k) {
    x[(k % 2) * 32 + k] = 1.0f;
  }
  for (const int64_t tokens : {2, 8}) {
    std::vector<float> out(static_cast<size_t>(tokens) * 256);
    LinearProblem problem;
    problem.x = x.data();
    problem.x_stride = 32;
    problem.num_tokens = tokens;
    problem.weight = weight.view();
    problem.out = out.data();
    problem.out_stride = 256;
    ops.linear(serial, {.problems = &problem, .num_problems = 1});
    for (size_t byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(out[byte], 2 * e2m1_value(byte & 15)) << "low nibble of " << byte;
      EXPECT_EQ(out[256 + byte], 2 * e2m1_value(static_cast<uint8_t>(byte >> 4)))
          << "high nibble of " << byte;
    }
  }
}

TEST_P(LinearTest, AppliesExtremeScales) {
  TestWeight weight(DType::kF4E2M1, 1, 4, 64, rng);
  std::fill(weight.codes().begin(), weight.codes().end(), uint8_t{0x22});  // every code is 1
  weight.scales() = {127 - 100, 127 - 100, 127 + 60, 127 + 60, 127, 128, 1, 254};
  const std::vector<float> x(64, 1.0f);
  std::vector<float> out(4);
  LinearProblem problem;
  problem.x = x.data();
  problem.x_stride = 64;
  problem.num_tokens = 1;
  problem.weight = weight.view();
  problem.out = out.data();
  problem.out_stride = 4;
  ops.linear(serial, {.problems = &problem, .num_problems = 1});
  EXPECT_FLOAT_EQ(out[0], std::ldexp(64.0f, -100));
  EXPECT_FLOAT_EQ(out[1], std::ldexp(64.0f, 60));
  EXPECT_FLOAT_EQ(out[2], 96.0f);
  EXPECT_FLOAT_EQ(out[3], INFINITY);  // 32 * 2^127
}

TEST_P(LinearTest, SolvesManyProblemsAsOneRegion) {
  struct Shape {
    DType dtype;
    int32_t scale_rows;
    int64_t rows, cols, tokens;
  };
  const std::vector<Shape> shapes = {
      {DType::kF4E2M1, 1, 65, 64, 1}, {DType::kF8E4M3, 32, 40, 96, 7},
      {DType::kBF16, 0, 9, 130, 0},   {DType::kF32, 0, 1, 10, 2},
      {DType::kF4E2M1, 1, 64, 64, 0}, {DType::kBF16, 0, 31, 64, 30}};
  std::vector<TestWeight> weights;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> outputs;
  std::vector<LinearProblem> problems;
  for (const Shape& shape : shapes) {
    weights.emplace_back(shape.dtype, shape.scale_rows, shape.rows, shape.cols, rng);
    inputs.push_back(normal(shape.tokens * shape.cols));
    outputs.emplace_back(static_cast<size_t>(shape.tokens * shape.rows), NAN);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    LinearProblem problem;
    problem.x = inputs[i].data();
    problem.x_stride = shapes[i].cols;
    problem.num_tokens = shapes[i].tokens;
    problem.weight = weights[i].view();
    problem.out = outputs[i].data();
    problem.out_stride = shapes[i].rows;
    problems.push_back(problem);
  }
  ops.linear(threaded,
             {.problems = problems.data(), .num_problems = static_cast<int64_t>(problems.size())});
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<float> alone(outputs[i].size(), NAN);
    problems[i].out = alone.data();
    ops.linear(serial, {.problems = &problems[i], .num_problems = 1});
    EXPECT_EQ(outputs[i], alone) << "problem " << i;
  }
  ops.linear(threaded, {.problems = nullptr, .num_problems = 0});
}

// Chunked prefill, single-token decode and batches must give the same bits, so that greedy
// tokens do not depend on how a prompt is cut.
TEST_P(LinearTest, ResultOfATokenDoesNotDependOnTheOthers) {
  for (const Case& format : kFormats) {
    const int64_t rows = 75;
    const int64_t cols = 1074;
    const TestWeight weight(format.dtype, format.scale_rows, rows, cols, rng);
    const int64_t tokens = 131;
    const auto x = normal(tokens * cols);
    std::vector<float> all(static_cast<size_t>(tokens * rows));
    LinearProblem problem;
    problem.x = x.data();
    problem.x_stride = cols;
    problem.num_tokens = tokens;
    problem.weight = weight.view();
    problem.out = all.data();
    problem.out_stride = rows;
    ops.linear(threaded, {.problems = &problem, .num_problems = 1});
    for (const int64_t count : {1, 2, 4, 5}) {
      std::vector<float> some(static_cast<size_t>(count * rows));
      problem.num_tokens = count;
      problem.out = some.data();
      ops.linear(serial, {.problems = &problem, .num_problems = 1});
      for (size_t i = 0; i < some.size(); ++i) {
        ASSERT_EQ(some[i], all[i])
            << "dtype " << static_cast<int>(format.dtype) << " count " << count << " element " << i;
      }
    }
  }
}

DI_FOR_EACH_VARIANT(LinearTest);

}  // namespace
}  // namespace deepinfer::kernels
