#pragma once

/// A clock that stands still until told otherwise.

#include <atomic>
#include <chrono>

#include "base/clock.h"

namespace deepinfer::support {

/// Starts at one second. Thread-safe.
class ManualClock final : public base::Clock {
 public:
  base::TimePoint now() const override {
    return base::TimePoint(std::chrono::milliseconds(now_ms_.load()));
  }
  void advance(std::chrono::milliseconds by) { now_ms_ += by.count(); }

 private:
  std::atomic<int64_t> now_ms_{1000};
};

}  // namespace deepinfer::support
