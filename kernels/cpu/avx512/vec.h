#pragma once

/// Vectors of 16 floats (AVX-512 F, BW, VL, DQ) and the expansion of stored codes into them.
/// The kernel bodies in kernels/cpu/simd are written against these names. Internal linkage only.

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ops.h"

#define DI_INLINE [[gnu::always_inline]] inline

namespace deepinfer::kernels {
namespace {

constexpr int64_t kLanes = 16;
/// Rows by tokens of the inner matrix product.
constexpr int64_t kRowGroup = 4;
constexpr int64_t kTokenGroup = 4;
/// Tokens that share one expansion of codes in registers, and tokens for which that is better
/// than expanding to memory first.
constexpr int64_t kFusedTokens = 4;
constexpr int64_t kFewTokens = 4;
/// Heads by keys of the inner product of attention.
constexpr int64_t kInnerHeads = 4;
constexpr int64_t kInnerKeys = 4;

struct Vec {
  __m512 v;
};

DI_INLINE __mmask16 first(int64_t n) {
  return static_cast<__mmask16>((1u << n) - 1u);
}
DI_INLINE Vec zero() {
  return {_mm512_setzero_ps()};
}
DI_INLINE Vec set1(float x) {
  return {_mm512_set1_ps(x)};
}
DI_INLINE Vec load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
DI_INLINE void store(float* p, Vec a) {
  _mm512_storeu_ps(p, a.v);
}
/// The first n < kLanes elements; the other lanes are zero.
DI_INLINE Vec load_first(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(first(n), p)};
}
DI_INLINE void store_first(float* p, Vec a, int64_t n) {
  _mm512_mask_storeu_ps(p, first(n), a.v);
}
DI_INLINE Vec load_bf16(const uint16_t* p) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
DI_INLINE Vec load_bf16_first(const uint16_t* p, int64_t n) {
  const __m256i bits = _mm256_maskz_loadu_epi16(first(n), p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16))};
}
DI_INLINE Vec add(Vec a, Vec b) {
  return {_mm512_add_ps(a.v, b.v)};
}
DI_INLINE Vec sub(Vec a, Vec b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
DI_INLINE Vec mul(Vec a, Vec b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
DI_INLINE Vec div(Vec a, Vec b) {
  return {_mm512_div_ps(a.v, b.v)};
}
DI_INLINE Vec fma(Vec a, Vec b, Vec c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
DI_INLINE Vec max(Vec a, Vec b) {
  return {_mm512_max_ps(a.v, b.v)};
}
DI_INLINE Vec min(Vec a, Vec b) {
  return {_mm512_min_ps(a.v, b.v)};
}
DI_INLINE Vec round_nearest(Vec a) {
  return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a * 2^n for integral n.
DI_INLINE Vec scale_pow2(Vec a, Vec n) {
  return {_mm512_scalef_ps(a.v, n.v)};
}
DI_INLINE float reduce_add(Vec a) {
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
/// Columns 0, 2, 4, ... and 1, 3, 5, ... of the 2 * kLanes columns in a and b.
DI_INLINE void deinterleave(Vec a, Vec b, Vec* even, Vec* odd) {
  const __m512i first_even =
      _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i first_odd = _mm512_add_epi32(first_even, _mm512_set1_epi32(1));
  *even = {_mm512_permutex2var_ps(a.v, first_even, b.v)};
  *odd = {_mm512_permutex2var_ps(a.v, first_odd, b.v)};
}
DI_INLINE void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

/// 32 E4M3 codes as floats, divided by 256: moved up by 7 bits a code is the float16 whose
/// exponent bias is 15 instead of 7. Holds for subnormals too; NaN codes come out as ±480.
DI_INLINE void expand_e4m3(const uint8_t* p, Vec* w) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m512i words = _mm512_slli_epi16(_mm512_cvtepi8_epi16(bytes), 7);
  const __m512i halves = _mm512_and_si512(words, _mm512_set1_epi16(static_cast<int16_t>(0xBF80)));
  w[0] = {_mm512_cvtph_ps(_mm512_castsi512_si256(halves))};
  w[1] = {_mm512_cvtph_ps(_mm512_extracti64x4_epi64(halves, 1))};
}

/// 32 E2M1 codes (16 bytes) times `scale`: the even columns, then the odd ones.
DI_INLINE void expand_e2m1(const uint8_t* p, Vec scale, Vec* w) {
  const __m512 values = _mm512_set_ps(-6.0f, -4.0f, -3.0f, -2.0f, -1.5f, -1.0f, -0.5f, -0.0f, 6.0f,
                                      4.0f, 3.0f, 2.0f, 1.5f, 1.0f, 0.5f, 0.0f);
  const __m512 scaled = _mm512_mul_ps(values, scale.v);
  // The permutation looks at the low four bits of an index only.
  const __m512i codes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  w[0] = {_mm512_permutexvar_ps(codes, scaled)};
  w[1] = {_mm512_permutexvar_ps(_mm512_srli_epi32(codes, 4), scaled)};
}

}  // namespace
}  // namespace deepinfer::kernels
