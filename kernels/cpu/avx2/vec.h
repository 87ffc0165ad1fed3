#pragma once

/// Vectors of 8 floats (AVX2, FMA, F16C) and the expansion of stored codes into them. The kernel
/// bodies in kernels/cpu/simd are written against these names. Internal linkage only.

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ops.h"

#define DI_INLINE [[gnu::always_inline]] inline

namespace deepinfer::kernels {
namespace {

constexpr int64_t kLanes = 8;
/// Rows by tokens of the inner matrix product.
constexpr int64_t kRowGroup = 4;
constexpr int64_t kTokenGroup = 2;
/// Tokens that share one expansion of codes in registers, and tokens for which that is better
/// than expanding to memory first.
constexpr int64_t kFusedTokens = 2;
constexpr int64_t kFewTokens = 4;
/// Heads by keys of the inner product of attention.
constexpr int64_t kInnerHeads = 4;
constexpr int64_t kInnerKeys = 2;

struct Vec {
  __m256 v;
};

DI_INLINE __m256i first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}
DI_INLINE Vec zero() {
  return {_mm256_setzero_ps()};
}
DI_INLINE Vec set1(float x) {
  return {_mm256_set1_ps(x)};
}
DI_INLINE Vec load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
DI_INLINE void store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.v);
}
/// The first n < kLanes elements; the other lanes are zero.
DI_INLINE Vec load_first(const float* p, int64_t n) {
  return {_mm256_maskload_ps(p, first(n))};
}
DI_INLINE void store_first(float* p, Vec a, int64_t n) {
  _mm256_maskstore_ps(p, first(n), a.v);
}
DI_INLINE Vec load_bf16(const uint16_t* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16))};
}
DI_INLINE Vec load_bf16_first(const uint16_t* p, int64_t n) {
  uint16_t bits[kLanes] = {0};
  memcpy(bits, p, static_cast<size_t>(n) * sizeof(uint16_t));
  return load_bf16(bits);
}
DI_INLINE Vec add(Vec a, Vec b) {
  return {_mm256_add_ps(a.v, b.v)};
}
DI_INLINE Vec sub(Vec a, Vec b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
DI_INLINE Vec mul(Vec a, Vec b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
DI_INLINE Vec div(Vec a, Vec b) {
  return {_mm256_div_ps(a.v, b.v)};
}
DI_INLINE Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
DI_INLINE Vec max(Vec a, Vec b) {
  return {_mm256_max_ps(a.v, b.v)};
}
DI_INLINE Vec min(Vec a, Vec b) {
  return {_mm256_min_ps(a.v, b.v)};
}
DI_INLINE Vec round_nearest(Vec a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
/// a * 2^n for integral n in [-252, 254], in two steps so that each factor is a normal float.
DI_INLINE Vec scale_pow2(Vec a, Vec n) {
  const __m256i exponent = _mm256_cvtps_epi32(n.v);
  const __m256i half = _mm256_srai_epi32(exponent, 1);
  const __m256i rest = _mm256_sub_epi32(exponent, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256 f = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const __m256 g = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, f), g)};
}
DI_INLINE float reduce_add(Vec a) {
  const __m128 quarter = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  const __m128 pair = _mm_add_ps(quarter, _mm_movehl_ps(quarter, quarter));
  return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
}
/// Columns 0, 2, 4, ... and 1, 3, 5, ... of the 2 * kLanes columns in a and b.
DI_INLINE void deinterleave(Vec a, Vec b, Vec* even, Vec* odd) {
  const __m256d e = _mm256_castps_pd(_mm256_shuffle_ps(a.v, b.v, 0x88));
  const __m256d o = _mm256_castps_pd(_mm256_shuffle_ps(a.v, b.v, 0xDD));
  *even = {_mm256_castpd_ps(_mm256_permute4x64_pd(e, 0xD8))};
  *odd = {_mm256_castpd_ps(_mm256_permute4x64_pd(o, 0xD8))};
}
DI_INLINE void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

/// 32 E4M3 codes as floats, divided by 256: moved up by 7 bits a code is the float16 whose
/// exponent bias is 15 instead of 7. Holds for subnormals too; NaN codes come out as ±480.
DI_INLINE void expand_e4m3(const uint8_t* p, Vec* w) {
  for (int i = 0; i < 2; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const __m256i words = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i halves = _mm256_and_si256(words, _mm256_set1_epi16(static_cast<int16_t>(0xBF80)));
    w[2 * i] = {_mm256_cvtph_ps(_mm256_castsi256_si128(halves))};
    w[2 * i + 1] = {_mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
  }
}

/// 32 E2M1 codes (16 bytes) times `scale`: of each 16 columns the even, then the odd ones.
DI_INLINE void expand_e2m1(const uint8_t* p, Vec scale, Vec* w) {
  const __m256 magnitudes = _mm256_set_ps(6.0f, 4.0f, 3.0f, 2.0f, 1.5f, 1.0f, 0.5f, 0.0f);
  const __m256 scaled = _mm256_mul_ps(magnitudes, scale.v);
  const __m256 sign = _mm256_set1_ps(-0.0f);
  for (int i = 0; i < 2; ++i) {
    const __m256i codes =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8 * i)));
    // The permutation looks at the low three bits of an index only; bit 3 is the sign.
    const __m256i upper = _mm256_srli_epi32(codes, 4);
    const __m256 even = _mm256_permutevar8x32_ps(scaled, codes);
    const __m256 odd = _mm256_permutevar8x32_ps(scaled, upper);
    const __m256 even_sign = _mm256_and_ps(sign, _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28)));
    const __m256 odd_sign = _mm256_and_ps(sign, _mm256_castsi256_ps(_mm256_slli_epi32(upper, 28)));
    w[2 * i] = {_mm256_xor_ps(even, even_sign)};
    w[2 * i + 1] = {_mm256_xor_ps(odd, odd_sign)};
  }
}

}  // namespace
}  // namespace deepinfer::kernels
