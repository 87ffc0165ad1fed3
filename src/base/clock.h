#pragma once

/// Time, injected so that tests need no sleeps.

#include <chrono>

namespace deepinfer::base {

using TimePoint = std::chrono::steady_clock::time_point;

/// Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// The steady clock of the machine, for what waits on sockets and cannot be injected.
inline TimePoint steady_now() {
  return std::chrono::steady_clock::now();
}

/// Rounded up, so that a wait never ends just before its deadline and spins; negative behind it.
inline std::chrono::milliseconds time_until(TimePoint deadline) {
  return std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
}

/// `to - from` in seconds.
inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace deepinfer::base
