#pragma once

/// How often an engine may die.

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/clock.h"

namespace deepinfer::process {

/// Deaths within ten minutes count. One thread.
class RestartPolicy {
 public:
  explicit RestartPolicy(int32_t max_restarts) : max_restarts_(max_restarts) {}

  /// How long to wait before the next start, or nothing: give up.
  std::optional<std::chrono::milliseconds> after_death(base::TimePoint now);
  /// Restarts that count at the moment.
  int32_t num_recent() const { return static_cast<int32_t>(deaths_.size()); }

 private:
  const int32_t max_restarts_;
  std::deque<base::TimePoint> deaths_;
};

}  // namespace deepinfer::process
