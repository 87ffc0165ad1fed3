#pragma once

/// The thread that holds every connection on which nothing runs. It accepts, collects request
/// heads, watches idle connections and deadlines, and notices clients that leave while their
/// request runs. A worker is spent only on a complete head, so idle clients and slow heads cost
/// none; a slow body keeps one until the body's deadline.

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread.h"
#include "server/connection.h"
#include "server/listener.h"
#include "server/request_head.h"

namespace deepinfer::server {

struct PollerLimits {
  size_t max_connections = 16384;
  /// From the accept, or from the first byte on a kept connection, to the whole head.
  std::chrono::milliseconds head_timeout{10'000};
  /// Silence allowed between requests.
  std::chrono::milliseconds keep_alive_timeout{75'000};
  HeadLimits head;
};

/// `release`, `stop_accepting` and `shutdown_connections` are thread-safe; the
/// rest belongs to the owner.
class Poller {
 public:
  /// `on_request` gets a connection whose buffer holds a head to be parsed (complete, hopeless,
  /// or cut off by the deadline); the connection is the callee's until `release`.
  using OnRequest = std::function<void(Connection&)>;

  Poller(std::vector<base::UniqueFd> listeners, const PollerLimits& limits, OnRequest on_request);
  /// Closes every connection; no worker may hold one any more.
  ~Poller();

  void start();
  /// Ends the thread after it has done what was asked of it. Idempotent.
  void stop();

  /// Gives a connection back: to wait for its next request, or to be closed.
  void release(Connection& connection, bool keep);
  /// Closes the listeners and all idle connections; kept ones are closed on release. Returns
  /// when that is done.
  void stop_accepting();
  /// Ends the sockets of all connections, so that blocked reads and writes fail.
  void shutdown_connections();

 private:
  enum class State { kHead, kIdle, kActive };
  using WaitList = std::list<uint64_t>;

  struct Entry {
    std::unique_ptr<Connection> connection;
    State state = State::kActive;
    base::TimePoint deadline;
    WaitList::iterator place;
  };
  struct Returned {
    uint64_t id = 0;
    bool keep = false;
  };

  void run();
  void handle(const epoll_event& event);
  void handle_wakeup();
  void accept_from(int listener_fd);
  void add(base::UniqueFd socket, PeerAddress peer);
  void on_readable(Entry& entry);
  void park(Entry& entry, State state);
  void activate(Entry& entry);
  void unlist(Entry& entry);
  void remove(uint64_t id);
  void arm(const Entry& entry, uint32_t events);
  void expire(WaitList& list);
  void make_room();
  void report_accept_failure(int error);
  void pause_accepting();
  void resume_accepting();
  void close_listeners();
  int wait_ms() const;
  bool stopping();
  void wake();

  const PollerLimits limits_;
  const OnRequest on_request_;
  base::UniqueFd epoll_;
  base::UniqueFd wakeup_;

  // Poll thread only.
  std::vector<base::UniqueFd> listeners_;
  std::unordered_map<uint64_t, Entry> entries_;
  // Oldest first; each has one timeout, so the front expires first.
  WaitList heads_;
  WaitList idle_;
  uint64_t next_id_;
  std::optional<base::TimePoint> accept_again_;
  std::optional<base::TimePoint> accept_reported_;
  bool accepting_ = true;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::vector<Returned> returned_;
  bool stop_accepting_ = false;
  bool accepting_stopped_ = false;
  bool shutdown_connections_ = false;
  bool stop_ = false;

  base::NamedThread thread_;
};

}  // namespace deepinfer::server
