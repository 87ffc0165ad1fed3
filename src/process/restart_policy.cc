#include "process/restart_policy.h"

#include <algorithm>

namespace deepinfer::process {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kWindow{10};
constexpr milliseconds kFirstDelay{100};
constexpr milliseconds kLongestDelay{2'000};

}  // namespace

std::optional<milliseconds> RestartPolicy::after_death(base::TimePoint now) {
  while (!deaths_.empty() && now - deaths_.front() >= kWindow) {
    deaths_.pop_front();
  }
  if (num_recent() >= max_restarts_) {
    return std::nullopt;
  }
  milliseconds delay = kFirstDelay;
  for (int32_t i = 0; i < num_recent() && delay < kLongestDelay; ++i) {
    delay *= 2;
  }
  deaths_.push_back(now);
  return std::min(delay, kLongestDelay);
}

}  // namespace deepinfer::process
