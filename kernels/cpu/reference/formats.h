#pragma once

/// Decoders of the storage formats (model spec §3.1) and the grain of parallel loops, for the
/// reference kernels. Internal linkage throughout.

#include <math.h>
#include <string.h>

#include "kernels/ops.h"

namespace deepinfer::kernels::reference {

/// BF16 is the upper half of a float32.
static inline float decode_bf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

static constexpr float power_of_two(int exponent) {
  float value = 1.0f;
  for (; exponent > 0; --exponent) {
    value *= 2.0f;
  }
  for (; exponent < 0; ++exponent) {
    value /= 2.0f;
  }
  return value;
}

/// E4M3: (1 + m / 8) * 2^(e - 7); e = 0 is subnormal, m * 2^-9; 0x7F and 0xFF are NaN.
struct E4m3Table {
  float values[256] = {};
  constexpr E4m3Table() {
    for (int code = 0; code < 256; ++code) {
      const int exponent = (code >> 3) & 15;
      const auto mantissa = static_cast<float>(code & 7);
      float value = exponent == 0 ? mantissa * power_of_two(-9)
                                  : (1.0f + mantissa / 8.0f) * power_of_two(exponent - 7);
      if ((code & 0x7F) == 0x7F) {
        value = NAN;
      }
      values[code] = (code & 0x80) != 0 ? -value : value;
    }
  }
};
static constexpr E4m3Table kE4m3Table;

static inline float decode_e4m3(uint8_t code) {
  return kE4m3Table.values[code];
}

/// E2M1: the magnitudes below; bit 3 is the sign.
static inline float decode_e2m1(uint8_t code) {
  static const float kMagnitudes[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  const float magnitude = kMagnitudes[code & 7];
  return (code & 8) != 0 ? -magnitude : magnitude;
}

/// E8M0: 2^(byte - 127).
static inline float decode_e8m0(uint8_t byte) {
  return ldexpf(1.0f, static_cast<int>(byte) - 127);
}

/// Writes elements (row, begin .. begin + count) of `weight`, scales applied. The columns must
/// lie within one scale segment of kScaleColumns.
static inline void decode_segment(const WeightView& weight, int64_t row, int64_t begin,
                                  int64_t count, float* out) {
  const int64_t stored_row = weight.row_begin + row;
  const int64_t first = stored_row * weight.cols + begin;
  float scale = 1.0f;
  if (weight.scale != nullptr) {
    const int64_t scale_cols = (weight.cols + kScaleColumns - 1) / kScaleColumns;
    scale = decode_e8m0(
        weight.scale[stored_row / weight.scale_rows * scale_cols + begin / kScaleColumns]);
  }
  const auto* bytes = static_cast<const uint8_t*>(weight.data);
  switch (weight.dtype) {
    case DType::kF32:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<const float*>(weight.data)[first + i] * scale;
      }
      break;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = decode_bf16(static_cast<const uint16_t*>(weight.data)[first + i]) * scale;
      }
      break;
    case DType::kF8E4M3:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = decode_e4m3(bytes[first + i]) * scale;
      }
      break;
    case DType::kF4E2M1:
      // The even column is in the low nibble.
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = first + i;
        out[i] = decode_e2m1((bytes[at / 2] >> (at % 2 == 0 ? 0 : 4)) & 15) * scale;
      }
      break;
    case DType::kE8M0:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = decode_e8m0(bytes[first + i]) * scale;
      }
      break;
  }
}

/// Items per piece of a parallel loop, so that a piece is worth waking a thread for.
static inline int64_t grain_for(int64_t work_per_item) {
  const int64_t kWorkPerPiece = 16384;
  return work_per_item >= kWorkPerPiece ? 1 : kWorkPerPiece / (work_per_item + 1) + 1;
}

static inline float sigmoid(float x) {
  return 1.0f / (1.0f + expf(-x));
}

}  // namespace deepinfer::kernels::reference
