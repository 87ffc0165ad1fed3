#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// out[t, n] = sum_k x[t, k] * weight[n, k]. A row is decoded one scale segment at a time, for
// all tokens; `out` carries the sum from segment to segment.
void multiply_row(const LinearProblem& problem, int64_t n) {
  const int64_t cols = problem.weight.cols;
  for (int64_t t = 0; t < problem.num_tokens; ++t) {
    problem.out[t * problem.out_stride + n] = 0;
  }
  for (int64_t begin = 0; begin < cols; begin += kScaleColumns) {
    const int64_t count = cols - begin < kScaleColumns ? cols - begin : kScaleColumns;
    float w[kScaleColumns];
    decode_segment(problem.weight, n, begin, count, w);
    for (int64_t t = 0; t < problem.num_tokens; ++t) {
      const float* x = problem.x + t * problem.x_stride + begin;
      float sum = 0;
      for (int64_t i = 0; i < count; ++i) {
        sum += x[i] * w[i];
      }
      problem.out[t * problem.out_stride + n] += sum;
    }
  }
}

}  // namespace

void linear(const OpContext& context, const LinearArgs& args) {
  // One parallel loop over the rows of all problems, laid end to end.
  int64_t total_rows = 0;
  int64_t total_work = 0;
  for (int64_t p = 0; p < args.num_problems; ++p) {
    const LinearProblem& problem = args.problems[p];
    total_rows += problem.weight.rows;
    total_work += problem.weight.rows * problem.weight.cols * problem.num_tokens;
  }
  if (total_rows == 0) {
    return;
  }
  parallel_for(
      context, total_rows, grain_for(total_work / total_rows), [&](int64_t begin, int64_t end) {
        int64_t first = 0;  // number of the problem's first row
        for (int64_t p = 0; p < args.num_problems; ++p) {
          const LinearProblem& problem = args.problems[p];
          const int64_t last = first + problem.weight.rows;
          for (int64_t row = begin > first ? begin : first; row < end && row < last; ++row) {
            multiply_row(problem, row - first);
          }
          first = last;
        }
      });
}

}  // namespace deepinfer::kernels::reference
