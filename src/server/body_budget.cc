#include "server/body_budget.h"

namespace deepinfer::server {

bool BodyLease::grow_to(uint64_t bytes) {
  if (bytes <= held_) {
    return true;
  }
  const uint64_t more = bytes - held_;
  uint64_t used = budget_.used_.load(std::memory_order_relaxed);
  do {
    if (more > budget_.limit_ || used > budget_.limit_ - more) {
      return false;
    }
  } while (!budget_.used_.compare_exchange_weak(used, used + more, std::memory_order_relaxed));
  held_ = bytes;
  return true;
}

}  // namespace deepinfer::server
