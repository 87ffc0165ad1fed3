#pragma once

/// Matrix products with weights in their storage formats.
///
/// Every output is one vector accumulator that walks the columns in order and is summed up at
/// the end, in the path for few tokens and in the one for many alike. So a result does not
/// depend on how many tokens the step has, on the thread, or on the rows beside it. Scales are
/// powers of two: on which operand they are applied does not change a bit.

#include "kernels/cpu/simd/weight_formats.h"

namespace deepinfer::kernels {
namespace {

/// Rows that share one prepared copy of the input in the path for few tokens.
constexpr int64_t kTileRows = 32;
/// Floats of that copy.
constexpr int64_t kFusedInput = 8192;

/// The blocks of the path for many tokens: a panel of expanded rows stays in the first-level
/// cache, inputs and accumulators in the second.
constexpr int64_t kBlockTokens = 128;
constexpr int64_t kBlockRows = 64;
constexpr int64_t kBlockCols = 512;
constexpr int64_t kPanelRows = 16;

DI_INLINE float segment_scale(const uint8_t* scales, int64_t segment) {
  return scales == nullptr ? 1.0f : decode_e8m0(scales[segment]);
}

/// Writes columns [begin, begin + cols) of one input row to `out`, filled up with zeros to whole
/// segments, in the order in which Codes expands, times `factor` and the scales if given.
template <typename Codes>
void prepare_input(const float* x, int64_t begin, int64_t cols, const uint8_t* scales, float factor,
                   float* out) {
  for (int64_t at = 0; at < cols; at += kScaleColumns) {
    const Vec scale = set1(factor * segment_scale(scales, (begin + at) / kScaleColumns));
    Vec v[kSegmentVecs];
    for (int64_t i = 0; i < kSegmentVecs; ++i) {
      const int64_t left = cols - at - i * kLanes;
      const float* p = x + begin + at + i * kLanes;
      v[i] = left >= kLanes ? load(p) : left > 0 ? load_first(p, left) : zero();
      v[i] = mul(v[i], scale);
    }
    for (int64_t i = 0; Codes::kInterleaved && i < kSegmentVecs; i += 2) {
      deinterleave(v[i], v[i + 1], &v[i], &v[i + 1]);
    }
    for (int64_t i = 0; i < kSegmentVecs; ++i) {
      store(out + at + i * kLanes, v[i]);
    }
  }
}

// ---- few tokens: codes are expanded in registers and used at once ----

/// acc[r * kTokens + t] += codes of row r times input t, over one segment.
template <typename Codes, int64_t kRows, int64_t kTokens>
DI_INLINE void fused_segment(const uint8_t* const* codes, const float* const* scales,
                             const float* x, int64_t x_stride, Vec* acc) {
  Vec in[kTokens][kSegmentVecs];
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t v = 0; v < kSegmentVecs; ++v) {
      in[t][v] = load(x + t * x_stride + v * kLanes);
    }
  }
  for (int64_t r = 0; r < kRows; ++r) {
    Vec w[kSegmentVecs];
    Codes::expand(codes[r], Codes::kScalesCodes ? set1(*scales[r]) : zero(), w);
    for (int64_t v = 0; v < kSegmentVecs; ++v) {
      for (int64_t t = 0; t < kTokens; ++t) {
        acc[r * kTokens + t] = fma(w[v], in[t][v], acc[r * kTokens + t]);
      }
    }
  }
}

/// The same over columns [begin, begin + cols) of kRows rows from `stored_row` on.
template <typename Codes, int64_t kRows, int64_t kTokens>
void fused_rows(const WeightView& weight, int64_t stored_row, int64_t begin, int64_t cols,
                const float* x, int64_t x_stride, Vec* acc_out) {
  // Scales as floats: broadcast from memory they cost no shuffle in the loop.
  float scale_values[Codes::kScalesCodes ? kRows : 1][kFusedInput / kTokens / kScaleColumns];
  const uint8_t* codes[kRows];
  const float* scales[kRows];
  Vec acc[kRows * kTokens];
  // The rows of the next group, at the same columns: rows are too short for a prefetch along
  // them, which would reach into rows already read.
  const int64_t prefetch_bytes = kRows * code_bytes<Codes>(weight.cols);
  const int64_t whole = cols / kScaleColumns;
  const int64_t segments = (cols + kScaleColumns - 1) / kScaleColumns;
  for (int64_t r = 0; r < kRows; ++r) {
    codes[r] = static_cast<const uint8_t*>(weight.data) +
               code_bytes<Codes>((stored_row + r) * weight.cols + begin);
    scales[r] = nullptr;
    if (Codes::kScalesCodes) {
      const uint8_t* bytes = scale_row(weight, stored_row + r) + begin / kScaleColumns;
      for (int64_t s = 0; s < segments; ++s) {
        scale_values[r][s] = decode_e8m0(bytes[s]);
      }
      scales[r] = scale_values[r];
    }
  }
  for (int64_t i = 0; i < kRows * kTokens; ++i) {
    acc[i] = acc_out[i];
  }
  for (int64_t s = 0; s < whole; ++s) {
    for (int64_t r = 0; r < kRows; ++r) {
      prefetch(codes[r] + prefetch_bytes);
    }
    fused_segment<Codes, kRows, kTokens>(codes, scales, x + s * kScaleColumns, x_stride, acc);
    for (int64_t r = 0; r < kRows; ++r) {
      codes[r] += Codes::kSegmentBytes;
      scales[r] += Codes::kScalesCodes ? 1 : 0;
    }
  }
  if (whole < segments) {
    for (int64_t r = 0; r < kRows; ++r) {
      const TailSegment<Codes> tail(codes[r], cols % kScaleColumns);
      const uint8_t* tail_codes = tail.bytes;
      fused_segment<Codes, 1, kTokens>(&tail_codes, &scales[r], x + whole * kScaleColumns, x_stride,
                                       acc + r * kTokens);
    }
  }
  for (int64_t i = 0; i < kRows * kTokens; ++i) {
    acc_out[i] = acc[i];
  }
}

/// Rows [begin, end) of the problem, at most kTileRows and all under one row of scales where
/// these are applied to the input.
template <typename Codes, int64_t kTokens>
void fused_tile(const LinearProblem& problem, int64_t begin, int64_t end) {
  const WeightView& weight = problem.weight;
  const int64_t rows = end - begin;
  const int64_t stored = weight.row_begin + begin;
  const int64_t chunk = kFusedInput / kTokens;
  alignas(64) float input[kFusedInput];
  Vec acc[kTileRows * kTokens];
  for (int64_t i = 0; i < rows * kTokens; ++i) {
    acc[i] = zero();
  }
  const uint8_t* input_scales = Codes::kScalesCodes ? nullptr : scale_row(weight, stored);
  for (int64_t k = 0; k < weight.cols; k += chunk) {
    const int64_t cols = smaller(chunk, weight.cols - k);
    for (int64_t t = 0; t < kTokens; ++t) {
      if (t < problem.num_tokens) {
        prepare_input<Codes>(problem.x + t * problem.x_stride, k, cols, input_scales,
                             Codes::kFactor, input + t * chunk);
      } else {
        memset(input + t * chunk, 0,
               static_cast<size_t>(round_up(cols, kScaleColumns)) * sizeof(float));
      }
    }
    int64_t r = 0;
    for (; r + kRowGroup <= rows; r += kRowGroup) {
      fused_rows<Codes, kRowGroup, kTokens>(weight, stored + r, k, cols, input, chunk,
                                            acc + r * kTokens);
    }
    for (; r < rows; ++r) {
      fused_rows<Codes, 1, kTokens>(weight, stored + r, k, cols, input, chunk, acc + r * kTokens);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t t = 0; t < problem.num_tokens; ++t) {
      problem.out[t * problem.out_stride + begin + r] = reduce_add(acc[r * kTokens + t]);
    }
  }
}

/// The tile for all tokens, kFusedTokens at a time: the codes come from the cache again.
template <typename Codes>
void multiply_tile(const LinearProblem& problem, int64_t begin, int64_t end) {
  for (int64_t t = 0; t < problem.num_tokens; t += kFusedTokens) {
    LinearProblem some = problem;
    some.x += t * problem.x_stride;
    some.out += t * problem.out_stride;
    some.num_tokens = smaller(kFusedTokens, problem.num_tokens - t);
    if (some.num_tokens == 1) {
      fused_tile<Codes, 1>(some, begin, end);
    } else if (some.num_tokens == 2) {
      fused_tile<Codes, 2>(some, begin, end);
    } else {
      fused_tile<Codes, kFusedTokens>(some, begin, end);
    }
  }
}

template <typename Codes>
void multiply_few(const LinearProblem& problem, int64_t begin, int64_t end) {
  const WeightView& weight = problem.weight;
  for (int64_t row = begin; row < end;) {
    int64_t tile_end = smaller(end, row + kTileRows);
    if (!Codes::kScalesCodes && weight.scale != nullptr) {
      const int64_t left = weight.scale_rows - (weight.row_begin + row) % weight.scale_rows;
      tile_end = smaller(tile_end, row + left);
    }
    multiply_tile<Codes>(problem, row, tile_end);
    row = tile_end;
  }
}

// ---- many tokens: codes are expanded to a panel that all tokens use ----

/// One row of the panel: columns [begin, begin + cols) times scales, filled up with zeros.
template <typename Codes>
void expand_row(const WeightView& weight, int64_t stored_row, int64_t begin, int64_t cols,
                float* out) {
  const uint8_t* codes = static_cast<const uint8_t*>(weight.data) +
                         code_bytes<Codes>(stored_row * weight.cols + begin);
  const uint8_t* scales = scale_row(weight, stored_row);
  const auto expand = [&](const uint8_t* p, int64_t at) {
    const Vec scale = set1(Codes::kFactor * segment_scale(scales, (begin + at) / kScaleColumns));
    Vec w[kSegmentVecs];
    Codes::expand(p, scale, w);
    for (int64_t v = 0; v < kSegmentVecs; ++v) {
      store(out + at + v * kLanes, Codes::kScalesCodes ? w[v] : mul(w[v], scale));
    }
  };
  int64_t at = 0;
  for (; at + kScaleColumns <= cols; at += kScaleColumns) {
    expand(codes + code_bytes<Codes>(at), at);
  }
  if (at < cols) {
    const TailSegment<Codes> tail(codes + code_bytes<Codes>(at), cols - at);
    expand(tail.bytes, at);
  }
}

/// acc[r][t] += panel row r times input t, for kRowGroup rows and kTokens tokens.
template <int64_t kTokens>
DI_INLINE void multiply_group(const float* panel, const float* input, int64_t cols, Vec* acc_out) {
  Vec acc[kRowGroup][kTokens];
  for (int64_t r = 0; r < kRowGroup; ++r) {
    for (int64_t t = 0; t < kTokens; ++t) {
      acc[r][t] = acc_out[r * kBlockTokens + t];
    }
  }
  for (int64_t k = 0; k < cols; k += kLanes) {
    Vec in[kTokens];
    for (int64_t t = 0; t < kTokens; ++t) {
      in[t] = load(input + t * kBlockCols + k);
    }
    for (int64_t r = 0; r < kRowGroup; ++r) {
      const Vec w = load(panel + r * kBlockCols + k);
      for (int64_t t = 0; t < kTokens; ++t) {
        acc[r][t] = fma(w, in[t], acc[r][t]);
      }
    }
  }
  for (int64_t r = 0; r < kRowGroup; ++r) {
    for (int64_t t = 0; t < kTokens; ++t) {
      acc_out[r * kBlockTokens + t] = acc[r][t];
    }
  }
}

/// The panel times all tokens of the block, kTokenGroup at a time and then the rest.
template <int64_t kTokens>
DI_INLINE int64_t multiply_panel(const float* panel, int64_t rows, const float* input,
                                 int64_t token, int64_t tokens, int64_t cols, Vec* acc) {
  for (; token + kTokens <= tokens; token += kTokens) {
    for (int64_t r = 0; r < rows; r += kRowGroup) {
      multiply_group<kTokens>(panel + r * kBlockCols, input + token * kBlockCols, cols,
                              acc + r * kBlockTokens + token);
    }
  }
  return token;
}

/// Accumulators and inputs of one block.
struct Block {
  Vec acc[kBlockRows * kBlockTokens];
  float input[kBlockTokens * kBlockCols];
  float panel[kPanelRows * kBlockCols];
};

/// Tokens [token, token + tokens) by rows [row, row + rows).
template <typename Codes>
void multiply_block(const LinearProblem& problem, int64_t token, int64_t tokens, int64_t row,
                    int64_t rows, Block& block) {
  const WeightView& weight = problem.weight;
  for (int64_t r = 0; r < round_up(rows, kRowGroup); ++r) {
    for (int64_t t = 0; t < tokens; ++t) {
      block.acc[r * kBlockTokens + t] = zero();
    }
  }
  for (int64_t k = 0; k < weight.cols; k += kBlockCols) {
    const int64_t cols = smaller(kBlockCols, weight.cols - k);
    const int64_t padded_cols = round_up(cols, kScaleColumns);
    for (int64_t t = 0; t < tokens; ++t) {
      prepare_input<Codes>(problem.x + (token + t) * problem.x_stride, k, cols, nullptr, 1.0f,
                           block.input + t * kBlockCols);
    }
    for (int64_t p = 0; p < rows; p += kPanelRows) {
      const int64_t panel_rows = smaller(kPanelRows, rows - p);
      const int64_t padded_rows = round_up(panel_rows, kRowGroup);
      for (int64_t r = 0; r < padded_rows; ++r) {
        float* out = block.panel + r * kBlockCols;
        if (r < panel_rows) {
          expand_row<Codes>(weight, weight.row_begin + row + p + r, k, cols, out);
        } else {
          memset(out, 0, static_cast<size_t>(padded_cols) * sizeof(float));
        }
      }
      Vec* acc = block.acc + p * kBlockTokens;
      int64_t t = multiply_panel<kTokenGroup>(block.panel, padded_rows, block.input, 0, tokens,
                                              padded_cols, acc);
      t = multiply_panel<2>(block.panel, padded_rows, block.input, t, tokens, padded_cols, acc);
      multiply_panel<1>(block.panel, padded_rows, block.input, t, tokens, padded_cols, acc);
    }
  }
  for (int64_t t = 0; t < tokens; ++t) {
    float* out = problem.out + (token + t) * problem.out_stride + row;
    for (int64_t r = 0; r < rows; ++r) {
      out[r] = reduce_add(block.acc[r * kBlockTokens + t]);
    }
  }
}

template <typename Codes>
[[gnu::noinline]] void multiply_many(const LinearProblem& problem, int64_t begin, int64_t end) {
  alignas(64) Block block;
  for (int64_t token = 0; token < problem.num_tokens; token += kBlockTokens) {
    const int64_t tokens = smaller(kBlockTokens, problem.num_tokens - token);
    for (int64_t row = begin; row < end; row += kBlockRows) {
      multiply_block<Codes>(problem, token, tokens, row, smaller(kBlockRows, end - row), block);
    }
  }
}

// ---- choice of path, and the parallel loop ----

/// The path for few tokens applies scales where the format prefers it; other combinations (FP8
/// with one scale per row) are rare and take the general path.
template <typename Codes>
void multiply_rows(const LinearProblem& problem, int64_t begin, int64_t end) {
  const WeightView& weight = problem.weight;
  const bool scales_fit = Codes::kScalesCodes
                              ? weight.scale != nullptr
                              : weight.scale == nullptr || weight.scale_rows >= kRowGroup;
  if (problem.num_tokens <= kFewTokens && scales_fit) {
    multiply_few<Codes>(problem, begin, end);
  } else {
    multiply_many<Codes>(problem, begin, end);
  }
}

inline void multiply(const LinearProblem& problem, int64_t begin, int64_t end) {
  switch (problem.weight.dtype) {
    case DType::kF32:
      return multiply_rows<F32Codes>(problem, begin, end);
    case DType::kBF16:
      return multiply_rows<Bf16Codes>(problem, begin, end);
    case DType::kF8E4M3:
      return multiply_rows<E4m3Codes>(problem, begin, end);
    case DType::kF4E2M1:
      return multiply_rows<E2m1Codes>(problem, begin, end);
    case DType::kE8M0:
      return;  // a format of scales, never of weights
  }
}

/// Rows are handed out in units of kRowGroup.
DI_INLINE int64_t row_units(const LinearProblem& problem) {
  return problem.num_tokens == 0 ? 0 : (problem.weight.rows + kRowGroup - 1) / kRowGroup;
}

/// What a unit costs: reading and expanding its codes, then a product per token.
DI_INLINE int64_t unit_cost(const LinearProblem& problem) {
  return problem.weight.cols * (4 + problem.num_tokens) + 1;
}

/// All problems as one loop over their cost, laid end to end: a piece takes the units that begin
/// inside it, so that experts with many and with few tokens share the threads evenly.
inline void run_linear(const OpContext& context, const LinearArgs& args) {
  int64_t total = 0;
  for (int64_t p = 0; p < args.num_problems; ++p) {
    total += row_units(args.problems[p]) * unit_cost(args.problems[p]);
  }
  const int64_t grain = 65536;
  parallel_for(context, total, grain, [&](int64_t begin, int64_t end) {
    int64_t base = 0;
    for (int64_t p = 0; p < args.num_problems && base < end; ++p) {
      const LinearProblem& problem = args.problems[p];
      const int64_t units = row_units(problem);
      const int64_t cost = unit_cost(problem);
      const int64_t from = begin <= base ? 0 : smaller(units, (begin - base + cost - 1) / cost);
      const int64_t to = smaller(units, (end - base + cost - 1) / cost);
      if (from < to) {
        multiply(problem, from * kRowGroup, smaller(to * kRowGroup, problem.weight.rows));
      }
      base += units * cost;
    }
  });
}

}  // namespace
}  // namespace deepinfer::kernels
