// Ranks as threads of one process. Every operation has the same shape: each rank publishes
// pointers to its arguments, all meet, each reads the others' memory, all meet again (so that
// nobody's memory is reused while it is still read), each writes its own result.

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "comm/communicator.h"

namespace deepinfer::comm {
namespace {

enum class Operation { kReduceFloat, kReduceInt, kGather, kAllToAll, kBarrier };

// What a rank published for the operation in progress.
struct Published {
  Operation operation = Operation::kBarrier;
  ReduceOp reduce = ReduceOp::kSum;
  const void* data = nullptr;
  size_t size = 0;                      // elements of a reduction, else bytes
  std::span<const int64_t> part_bytes;  // all_to_all only
};

// What the ends of one group share. Each end holds a reference, so the group lives as long as
// its last end.
class Group {
 public:
  explicit Group(int32_t size) : published_(static_cast<size_t>(size)) {}

  int32_t size() const { return static_cast<int32_t>(published_.size()); }

  // Publishes `mine` and waits until every rank has published. Afterwards the slots are
  // readable by all until each has called `leave`.
  Status enter(int32_t rank, const Published& mine) {
    std::unique_lock lock(mutex_);
    published_[static_cast<size_t>(rank)] = mine;
    return meet(lock, rank);
  }

  // Waits until every rank is done with the published memory.
  Status leave(int32_t rank) {
    std::unique_lock lock(mutex_);
    return meet(lock, rank);
  }

  const Published& of(int32_t rank) const { return published_[static_cast<size_t>(rank)]; }

  void close(int32_t rank) {
    {
      const std::lock_guard lock(mutex_);
      gone_ = rank;
    }
    met_.notify_all();
  }

 private:
  Status meet(std::unique_lock<std::mutex>& lock, int32_t rank) {
    if (gone_ >= 0) {
      return peer_left(rank);
    }
    const uint64_t meeting = meetings_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++meetings_;
      met_.notify_all();
      return Status::ok();
    }
    met_.wait(lock, [&] { return meetings_ != meeting || gone_ >= 0; });
    // A meeting that took place counts even if a peer left right after it.
    return meetings_ != meeting ? Status::ok() : peer_left(rank);
  }

  Status peer_left(int32_t rank) const {
    return unavailable(fmt::format("rank {} waited for rank {}, which has left", rank, gone_));
  }

  std::mutex mutex_;
  std::condition_variable met_;
  // Written under mutex_ before a meeting, read without it between enter and leave.
  std::vector<Published> published_;
  int32_t arrived_ = 0;    // guarded by mutex_
  uint64_t meetings_ = 0;  // guarded by mutex_
  int32_t gone_ = -1;      // guarded by mutex_
};

template <typename T>
T reduce(ReduceOp op, T left, T right) {
  switch (op) {
    case ReduceOp::kSum:
      return left + right;
    case ReduceOp::kMin:
      return std::min(left, right);
    case ReduceOp::kMax:
      return std::max(left, right);
  }
  return left;
}

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, int32_t rank)
      : group_(std::move(group)), rank_(rank) {}
  ~ThreadCommunicator() override { group_->close(rank_); }

  int32_t rank() const override { return rank_; }
  int32_t size() const override { return group_->size(); }

  Status all_reduce(std::span<float> values, ReduceOp op) override {
    return all_reduce_of(Operation::kReduceFloat, values, op);
  }

  Status all_reduce(std::span<int64_t> values, ReduceOp op) override {
    return all_reduce_of(Operation::kReduceInt, values, op);
  }

  Status all_gather(std::span<const std::byte> sent, std::span<std::byte> received) override {
    DI_CHECK(received.size() == sent.size() * static_cast<size_t>(size()));
    DI_TRY(group_->enter(
        rank_, {.operation = Operation::kGather, .data = sent.data(), .size = sent.size()}));
    Status agreed = check_agreement();
    if (agreed.is_ok() && !sent.empty()) {
      for (int32_t peer = 0; peer < size(); ++peer) {
        std::memcpy(received.data() + static_cast<size_t>(peer) * sent.size(),
                    group_->of(peer).data, sent.size());
      }
    }
    DI_TRY(group_->leave(rank_));
    return agreed;
  }

  Status all_to_all(std::span<const std::byte> sent, std::span<const int64_t> send_bytes,
                    std::span<std::byte> received, std::span<const int64_t> recv_bytes) override {
    DI_CHECK(send_bytes.size() == static_cast<size_t>(size()));
    DI_CHECK(recv_bytes.size() == static_cast<size_t>(size()));
    DI_CHECK(total(send_bytes) == sent.size());
    DI_CHECK(total(recv_bytes) == received.size());
    DI_TRY(group_->enter(rank_, {.operation = Operation::kAllToAll,
                                 .data = sent.data(),
                                 .size = sent.size(),
                                 .part_bytes = send_bytes}));
    Status copied = copy_parts(received, recv_bytes);
    DI_TRY(group_->leave(rank_));
    return copied;
  }

  Status barrier() override {
    DI_TRY(group_->enter(rank_, {.operation = Operation::kBarrier}));
    Status agreed = check_agreement();
    DI_TRY(group_->leave(rank_));
    return agreed;
  }

 private:
  static size_t total(std::span<const int64_t> parts) {
    size_t sum = 0;
    for (const int64_t part : parts) {
      sum += static_cast<size_t>(part);
    }
    return sum;
  }

  template <typename T>
  Status all_reduce_of(Operation operation, std::span<T> values, ReduceOp op) {
    DI_TRY(group_->enter(
        rank_,
        {.operation = operation, .reduce = op, .data = values.data(), .size = values.size()}));
    Status agreed = check_agreement();
    std::vector<T> result;
    if (agreed.is_ok()) {
      const auto* first = static_cast<const T*>(group_->of(0).data);
      result.assign(first, first + values.size());
      for (int32_t peer = 1; peer < size(); ++peer) {
        const auto* theirs = static_cast<const T*>(group_->of(peer).data);
        for (size_t i = 0; i < values.size(); ++i) {
          result[i] = reduce(op, result[i], theirs[i]);
        }
      }
    }
    DI_TRY(group_->leave(rank_));
    std::copy(result.begin(), result.end(), values.begin());
    return agreed;
  }

  // Between enter and leave: every rank must be in the same operation with the same size.
  // all_to_all checks its sizes part by part instead.
  Status check_agreement() const {
    const Published& mine = group_->of(rank_);
    for (int32_t peer = 0; peer < size(); ++peer) {
      const Published& theirs = group_->of(peer);
      const bool same_size = mine.operation == Operation::kAllToAll || theirs.size == mine.size;
      if (theirs.operation != mine.operation || theirs.reduce != mine.reduce || !same_size) {
        return internal_error(fmt::format(
            "ranks {} and {} are out of step: operation {} of size {} met operation {} of size {}",
            rank_, peer, static_cast<int>(mine.operation), mine.size,
            static_cast<int>(theirs.operation), theirs.size));
      }
    }
    return Status::ok();
  }

  Status copy_parts(std::span<std::byte> received, std::span<const int64_t> recv_bytes) const {
    DI_TRY(check_agreement());
    size_t written = 0;
    for (int32_t peer = 0; peer < size(); ++peer) {
      const Published& theirs = group_->of(peer);
      const auto mine = static_cast<size_t>(rank_);
      const int64_t bytes = recv_bytes[static_cast<size_t>(peer)];
      if (theirs.part_bytes[mine] != bytes) {
        return internal_error(fmt::format("rank {} expects {} bytes of rank {}, which sends {}",
                                          rank_, bytes, peer, theirs.part_bytes[mine]));
      }
      if (bytes > 0) {
        std::memcpy(
            received.data() + written,
            static_cast<const std::byte*>(theirs.data) + total(theirs.part_bytes.subspan(0, mine)),
            static_cast<size_t>(bytes));
        written += static_cast<size_t>(bytes);
      }
    }
    return Status::ok();
  }

  const std::shared_ptr<Group> group_;
  const int32_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int32_t size) {
  DI_CHECK(size >= 1);
  const auto group = std::make_shared<Group>(size);
  std::vector<std::unique_ptr<Communicator>> ends;
  ends.reserve(static_cast<size_t>(size));
  for (int32_t rank = 0; rank < size; ++rank) {
    ends.push_back(std::make_unique<ThreadCommunicator>(group, rank));
  }
  return ends;
}

}  // namespace deepinfer::comm
