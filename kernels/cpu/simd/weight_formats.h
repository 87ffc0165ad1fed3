#pragma once

/// The storage formats as the matrix products read them: segments of kScaleColumns columns.

#include "kernels/cpu/simd/common.h"

namespace deepinfer::kernels {
namespace {

/// Vectors per segment.
constexpr int64_t kSegmentVecs = kScaleColumns / kLanes;

struct F32Codes {
  static constexpr int64_t kSegmentBytes = 128;
  /// An expanded code is the stored value divided by this.
  static constexpr float kFactor = 1.0f;
  /// The expansion gives of each 2 * kLanes columns first the even, then the odd ones.
  static constexpr bool kInterleaved = false;
  /// Scales are applied to the codes while expanding (else to the other operand).
  static constexpr bool kScalesCodes = false;
  DI_INLINE static void expand(const uint8_t* p, Vec, Vec* w) {
    for (int64_t v = 0; v < kSegmentVecs; ++v) {
      // The pointer may have any alignment.
      memcpy(&w[v], p + v * kLanes * 4, sizeof(Vec));
    }
  }
};

struct Bf16Codes {
  static constexpr int64_t kSegmentBytes = 64;
  static constexpr float kFactor = 1.0f;
  static constexpr bool kInterleaved = false;
  static constexpr bool kScalesCodes = false;
  DI_INLINE static void expand(const uint8_t* p, Vec, Vec* w) {
    for (int64_t v = 0; v < kSegmentVecs; ++v) {
      w[v] = load_bf16(reinterpret_cast<const uint16_t*>(p + v * kLanes * 2));
    }
  }
};

struct E4m3Codes {
  static constexpr int64_t kSegmentBytes = 32;
  static constexpr float kFactor = 256.0f;
  static constexpr bool kInterleaved = false;
  static constexpr bool kScalesCodes = false;
  DI_INLINE static void expand(const uint8_t* p, Vec, Vec* w) { expand_e4m3(p, w); }
};

struct E2m1Codes {
  static constexpr int64_t kSegmentBytes = 16;
  static constexpr float kFactor = 1.0f;
  static constexpr bool kInterleaved = true;
  static constexpr bool kScalesCodes = true;
  DI_INLINE static void expand(const uint8_t* p, Vec scale, Vec* w) { expand_e2m1(p, scale, w); }
};

/// Bytes of `cols` columns.
template <typename Codes>
DI_INLINE int64_t code_bytes(int64_t cols) {
  return cols * Codes::kSegmentBytes / kScaleColumns;
}

/// The codes of a row's last, incomplete segment, filled up with zeros.
template <typename Codes>
struct TailSegment {
  uint8_t bytes[Codes::kSegmentBytes];
  DI_INLINE TailSegment(const uint8_t* p, int64_t cols) {
    memset(bytes, 0, sizeof(bytes));
    memcpy(bytes, p, static_cast<size_t>(code_bytes<Codes>(cols)));
  }
};

}  // namespace
}  // namespace deepinfer::kernels
