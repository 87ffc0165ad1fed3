#pragma once

/// Memory that request bodies may hold together. Each body alone is limited; without this,
/// thousands of connections could still fill the machine with large ones.

#include <atomic>
#include <cstdint>
#include <utility>

namespace deepinfer::server {

/// Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  friend class BodyLease;

  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

/// One body's share, given back on destruction. One thread.
class BodyLease {
 public:
  explicit BodyLease(BodyBudget& budget) : budget_(budget) {}
  ~BodyLease() { give_back(); }
  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;

  /// Makes the share at least `bytes`; false, with nothing changed, if the budget is used up.
  bool grow_to(uint64_t bytes);
  void give_back() { budget_.used_.fetch_sub(std::exchange(held_, 0), std::memory_order_relaxed); }

 private:
  BodyBudget& budget_;
  uint64_t held_ = 0;
};

}  // namespace deepinfer::server
