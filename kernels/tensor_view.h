#pragma once

/// Views over memory that somebody else owns: the currency of the op table. Only standard C
/// headers here, because kernel variants are compiled with wider instruction sets.

#include <cstddef>
#include <cstdint>

namespace deepinfer::kernels {

/// Storage formats (model spec §3.1).
enum class DType : uint8_t {
  kF32,
  kBF16,
  kF8E4M3,  ///< 1 sign, 4 exponent (bias 7), 3 mantissa; 0x7F/0xFF NaN; no infinity.
  kF4E2M1,  ///< Two codes a byte, the even column in the low nibble.
  kE8M0,    ///< 2^(byte - 127), for scales only.
};

/// Bytes of `count` elements; `count` must be even for kF4E2M1.
constexpr size_t dtype_bytes(DType dtype, int64_t count) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<size_t>(count) * 4;
    case DType::kBF16:
      return static_cast<size_t>(count) * 2;
    case DType::kF8E4M3:
    case DType::kE8M0:
      return static_cast<size_t>(count);
    case DType::kF4E2M1:
      return static_cast<size_t>(count) / 2;
  }
  return 0;
}

/// Columns that share one scale, in every scaled format.
inline constexpr int64_t kScaleColumns = 32;

/// The weight [rows, cols] of a linear layer in its checkpoint format, row-major.
///
/// Element (r, c) is `code(r, c) * scale(row / scale_rows, c / 32)`; without `scale`, the code
/// itself. `scale` is E8M0 [ceil(total_rows / scale_rows), ceil(cols / 32)].
struct WeightView {
  const void* data = nullptr;
  const uint8_t* scale = nullptr;
  DType dtype = DType::kF32;
  /// Rows per scale: 32 for FP8 tiles, 1 for FP4 and Engram rows.
  int32_t scale_rows = 1;
  /// First row of this view in `data` and `scale`, so that slices keep their tile phase.
  int64_t row_begin = 0;
  int64_t rows = 0;
  int64_t cols = 0;

  /// Rows [begin, begin + count) of this view.
  constexpr WeightView slice_rows(int64_t begin, int64_t count) const {
    WeightView view = *this;
    view.row_begin += begin;
    view.rows = count;
    return view;
  }
};

}  // namespace deepinfer::kernels
