#pragma once

/// Order of (score, index) pairs as integers: best score first, ties to the smaller index.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace deepinfer::kernels::reference {

/// A key that is larger for a better pair; keys of different indices differ. -0 ties with +0,
/// NaN is worse than every number.
static inline uint64_t ranking_key(float score, uint32_t index) {
  const float value = score + 0.0f;  // -0 becomes +0
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  uint32_t ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  if (value != value) {
    ordered = 0;
  }
  return (static_cast<uint64_t>(ordered) << 32) | (0xFFFFFFFFu - index);
}

static inline int32_t ranking_index(uint64_t key) {
  return static_cast<int32_t>(0xFFFFFFFFu - static_cast<uint32_t>(key));
}

/// Moves the `count` best keys to the front, in no particular order, and drops the others.
static inline void keep_best(std::vector<uint64_t>& keys, size_t count) {
  if (keys.size() <= count) {
    return;
  }
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end(),
                   std::greater<>());
  keys.resize(count);
}

}  // namespace deepinfer::kernels::reference
