#pragma once

/// Collectives between the ranks of an engine. Every rank calls the same sequence of
/// operations with matching sizes, idle ranks included; a rank that does not is a bug that
/// the watchdog ends.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::comm {

enum class ReduceOp { kSum, kMin, kMax };

/// One rank's end of a group. Used by its rank's thread only. A failure (a peer left, a
/// deadline passed) cannot be repaired: the engine ends.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;

  /// Every rank ends with the elementwise reduction over all ranks, in place. Summation
  /// order is by rank, so the result is the same on all ranks and in every run.
  virtual Status all_reduce(std::span<float> values, ReduceOp op) = 0;
  virtual Status all_reduce(std::span<int64_t> values, ReduceOp op) = 0;
  /// `received` = the `sent` of rank 0, 1, …, each of the same size.
  virtual Status all_gather(std::span<const std::byte> sent, std::span<std::byte> received) = 0;
  /// Rank r receives `send_bytes[r]` bytes of `sent` (in rank order) from this rank;
  /// `received` gets the parts of rank 0, 1, … with `recv_bytes[r]` each.
  virtual Status all_to_all(std::span<const std::byte> sent, std::span<const int64_t> send_bytes,
                            std::span<std::byte> received, std::span<const int64_t> recv_bytes) = 0;
  virtual Status barrier() = 0;
};

/// A group of `size` ranks in this process, one element per rank thread. Destroying one end
/// makes the pending and later calls of the others fail with kUnavailable.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int32_t size);

}  // namespace deepinfer::comm
