#pragma once

/// Time, injected so that tests need no sleeps.

#include <chrono>

namespace deepinfer::base {

using TimePoint = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

/// The steady clock of the machine. Thread-safe.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// `to - from` in seconds.
inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace deepinfer::base
