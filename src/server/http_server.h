#pragma once

/// The HTTP front end: accepts, reads, checks and routes requests, and drains. Connections are
/// ours (poller, gate); the HTTP library parses the checked head and writes the answer.

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

#include "base/clock.h"
#include "deepinfer/config.h"
#include "server/body_budget.h"
#include "server/exchange.h"
#include "server/listener.h"
#include "server/poller.h"
#include "server/request_gate.h"
#include "server/routes.h"
#include "server/worker_pool.h"

namespace deepinfer::server {

/// Times and sizes that no flag changes; tests shorten them.
struct HttpTuning {
  std::chrono::milliseconds head_timeout{10'000};
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds keep_alive_timeout{75'000};
  /// From the end of the drain to the end of the sockets.
  std::chrono::milliseconds abandon_timeout{2'000};
  WorkerLimits workers;
};

/// `start` once; `begin_drain` and `shutdown` from one other thread.
class HttpServer final : private httplib::Server {
 public:
  HttpServer(const HttpConfig& config, const HttpTuning& tuning, RouteTable routes,
             Listener listener);
  ~HttpServer() override;

  void start();

  int port() const { return port_; }
  const std::string& address() const { return address_; }

  /// From now on every answer closes its connection.
  void begin_drain() { draining_.store(true, std::memory_order_relaxed); }
  /// Waits for long-running requests until `deadline`, the port still open; then closes the
  /// port, abandons what is left and waits until all is quiet. False if a handler went on all the
  /// same; the destructor would wait for it.
  bool shutdown(base::TimePoint deadline);

 private:
  class LongRunning;
  struct Current;

  void serve(Connection& connection, bool shed);
  bool serve_one(Connection& connection, bool shed);
  bool answer(Connection& connection, const RequestHead& head, std::string body, BodyLease& lease,
              const Target& target, const std::string& request_id, base::TimePoint received);
  void refuse_request(Connection& connection, const Refusal& refusal, const RequestHead* head,
                      const std::string& request_id);
  std::vector<Header> common_headers(const RequestHead* head, const std::string& request_id) const;
  void install_callbacks();
  void dispatch(httplib::Response& res);

  static thread_local Current* current_;

  const HttpConfig config_;
  const HttpTuning tuning_;
  const RouteTable routes_;
  const RequestGate gate_;
  BodyBudget body_budget_;
  const int port_;
  const std::string address_;
  std::atomic<bool> draining_{false};
  std::atomic<bool> abandon_{false};
  mutable std::mutex mutex_;
  std::condition_variable long_running_changed_;
  int long_running_ = 0;  // guarded by mutex_
  Poller poller_;
  // Destroyed first: its threads use everything above.
  std::unique_ptr<WorkerPool> workers_;
};

}  // namespace deepinfer::server
