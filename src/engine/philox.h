#pragma once

/// Random numbers without state: a keyed function of a counter, so a draw depends on nothing
/// but its key and position.

#include <array>
#include <cstdint>

namespace deepinfer::engine {

/// Philox4x32-10. Source: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011, §3.3 (multipliers and Weyl constants of table 2).
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(product0)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

/// The uniform number in [0, 1) that belongs to `position` under `seed`, with 53 random bits.
constexpr double uniform_draw(uint64_t seed, int32_t position) {
  const std::array<uint32_t, 4> bits =
      philox4x32({static_cast<uint32_t>(position), 0, 0, 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t mantissa = ((uint64_t{bits[0]} << 32) | bits[1]) >> 11;
  return static_cast<double>(mantissa) * 0x1.0p-53;
}

}  // namespace deepinfer::engine
