#include "model/pcg64.h"

#include <array>
#include <cstddef>

namespace deepinfer::model {
namespace {

/// SeedSequence: spreads one word over a pool of four and draws eight words from it.
std::array<uint32_t, 8> seed_words(uint32_t seed) {
  uint32_t constant = 0x43b0d7e5;
  const auto hashmix = [&constant](uint32_t value) {
    value ^= constant;
    constant *= 0x931e8875;
    value *= constant;
    return value ^ (value >> 16);
  };
  const auto mix = [](uint32_t x, uint32_t y) {
    const uint32_t value = 0xca01f9ddU * x - 0x4973f715U * y;
    return value ^ (value >> 16);
  };
  std::array<uint32_t, 4> pool{};
  for (std::size_t i = 0; i < pool.size(); ++i) {
    pool[i] = hashmix(i == 0 ? seed : 0);
  }
  for (std::size_t src = 0; src < pool.size(); ++src) {
    for (std::size_t dst = 0; dst < pool.size(); ++dst) {
      if (src != dst) {
        pool[dst] = mix(pool[dst], hashmix(pool[src]));
      }
    }
  }
  std::array<uint32_t, 8> words{};
  constant = 0x8b51f9dd;
  for (std::size_t i = 0; i < words.size(); ++i) {
    uint32_t value = pool[i % pool.size()] ^ constant;
    constant *= 0x58f38ded;
    value *= constant;
    words[i] = value ^ (value >> 16);
  }
  return words;
}

uint128_t join(uint64_t high, uint64_t low) {
  return (static_cast<uint128_t>(high) << 64) | low;
}

}  // namespace

Pcg64::Pcg64(uint32_t seed) {
  const std::array<uint32_t, 8> words = seed_words(seed);
  const auto lane = [&words](std::size_t i) {
    return words[2 * i] | (static_cast<uint64_t>(words[2 * i + 1]) << 32);
  };
  increment_ = (join(lane(2), lane(3)) << 1) | 1;
  step();
  state_ += join(lane(0), lane(1));
  step();
}

void Pcg64::step() {
  state_ = state_ * join(0x2360ed051fc65da4, 0x4385df649fccf645) + increment_;
}

uint64_t Pcg64::next() {
  step();
  const uint64_t value = static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_);
  const auto turn = static_cast<unsigned>(state_ >> 122);
  return (value >> turn) | (value << ((64 - turn) % 64));
}

uint64_t Pcg64::below(uint64_t bound) {
  uint128_t product = static_cast<uint128_t>(next()) * bound;
  const uint64_t threshold = (0 - bound) % bound;  // (2^64 - bound) mod bound
  while (static_cast<uint64_t>(product) < threshold) {
    product = static_cast<uint128_t>(next()) * bound;
  }
  return static_cast<uint64_t>(product >> 64);
}

}  // namespace deepinfer::model
