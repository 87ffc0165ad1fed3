#pragma once

/// Small helpers of the kernel bodies in this folder. A variant includes its own vec.h first;
/// everything has internal linkage, so each variant keeps its own compilation.

#include "kernels/ops.h"

namespace deepinfer::kernels {
namespace {

DI_INLINE int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
DI_INLINE int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}
DI_INLINE int64_t round_up(int64_t n, int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Items per piece of a parallel loop, so that a piece is worth waking a thread for.
DI_INLINE int64_t grain_for(int64_t work_per_item) {
  const int64_t work_per_piece = 32768;
  return work_per_item >= work_per_piece ? 1 : work_per_piece / (work_per_item + 1) + 1;
}

/// Calls body(i, n) for vectors of n columns from column i; n = kLanes but for the last.
template <typename Body>
DI_INLINE void for_vectors(int64_t width, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    body(i, kLanes);
  }
  if (i < width) {
    body(i, width - i);
  }
}

DI_INLINE Vec load_n(const float* p, int64_t n) {
  return n == kLanes ? load(p) : load_first(p, n);
}
DI_INLINE Vec load_bf16_n(const uint16_t* p, int64_t n) {
  return n == kLanes ? load_bf16(p) : load_bf16_first(p, n);
}
DI_INLINE void store_n(float* p, Vec a, int64_t n) {
  if (n == kLanes) {
    store(p, a);
  } else {
    store_first(p, a, n);
  }
}

/// a · b
inline float dot(const float* a, const float* b, int64_t width) {
  Vec sum[4] = {zero(), zero(), zero(), zero()};
  int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    for (int64_t v = 0; v < 4; ++v) {
      sum[v] = fma(load(a + i + v * kLanes), load(b + i + v * kLanes), sum[v]);
    }
  }
  for (; i < width; i += kLanes) {
    const int64_t n = smaller(kLanes, width - i);
    sum[0] = fma(load_n(a + i, n), load_n(b + i, n), sum[0]);
  }
  return reduce_add(add(add(sum[0], sum[1]), add(sum[2], sum[3])));
}

/// e^x with a relative error of about 1e-7: x = n ln 2 + r, e^x = 2^n e^r, |r| <= ln 2 / 2.
/// Below -103 the result is 0 or the smallest subnormals, above 88.7 it is infinite.
DI_INLINE Vec exponential(Vec x) {
  x = min(max(x, set1(-110.0f)), set1(100.0f));
  const Vec n = round_nearest(mul(x, set1(1.44269504f)));
  Vec r = fma(n, set1(-0.693359375f), x);
  r = fma(n, set1(2.12194440e-4f), r);
  Vec p = set1(1.0f / 5040.0f);
  p = fma(p, r, set1(1.0f / 720.0f));
  p = fma(p, r, set1(1.0f / 120.0f));
  p = fma(p, r, set1(1.0f / 24.0f));
  p = fma(p, r, set1(1.0f / 6.0f));
  p = fma(p, r, set1(0.5f));
  p = fma(p, r, set1(1.0f));
  p = fma(p, r, set1(1.0f));
  return scale_pow2(p, n);
}

/// 2^(byte - 127)
DI_INLINE float decode_e8m0(uint8_t byte) {
  const uint32_t bits = byte == 0 ? 0x00400000u : static_cast<uint32_t>(byte) << 23;
  float value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The scales of one stored row, one per kScaleColumns columns; null without scales.
DI_INLINE const uint8_t* scale_row(const WeightView& weight, int64_t stored_row) {
  if (weight.scale == nullptr) {
    return nullptr;
  }
  const int64_t scale_cols = (weight.cols + kScaleColumns - 1) / kScaleColumns;
  return weight.scale + stored_row / weight.scale_rows * scale_cols;
}

}  // namespace
}  // namespace deepinfer::kernels
