#pragma once

/// The random stream Engram's multipliers are drawn from (model spec §5.3).

#include <cstdint>

namespace deepinfer::model {

__extension__ typedef unsigned __int128 uint128_t;

/// PCG64 (XSL-RR 128/64) seeded by NumPy's SeedSequence with one 32-bit integer.
/// Source: model spec §5.3; https://numpy.org/neps/nep-0019-rng-policy.html fixes the stream.
class Pcg64 {
 public:
  explicit Pcg64(uint32_t seed);

  uint64_t next();
  /// Uniform in [0, bound), without bias; bound > 2^32 (smaller bounds use another method).
  uint64_t below(uint64_t bound);

 private:
  void step();

  uint128_t state_ = 0;
  uint128_t increment_ = 0;
};

}  // namespace deepinfer::model
