#include "server/http_server.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "server/access.h"
#include "server/gate_stream.h"
#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

// The header that announces it must not lie; the poller enforces the time, nothing the count.
constexpr size_t kKeepAliveRequests = 1'000'000;

PollerLimits poller_limits(const HttpConfig& config, const HttpTuning& tuning) {
  PollerLimits limits;
  limits.max_connections = static_cast<size_t>(config.max_connections);
  limits.head_timeout = tuning.head_timeout;
  limits.keep_alive_timeout = tuning.keep_alive_timeout;
  return limits;
}

GateLimits gate_limits(const HttpConfig& config, const HttpTuning& tuning) {
  GateLimits limits;
  limits.body_bytes = static_cast<uint64_t>(config.max_request_bytes);
  limits.body_timeout = tuning.body_timeout;
  limits.write_timeout = tuning.write_timeout;
  return limits;
}

WorkerLimits worker_limits(const HttpConfig& config, const HttpTuning& tuning) {
  WorkerLimits limits = tuning.workers;
  // Streams may not take every connection: probes need some, and clients beyond that an answer.
  const int left_over = std::min(limits.reserve, config.max_connections / 2);
  limits.max_jobs = std::min(config.max_streams, config.max_connections - left_over);
  return limits;
}

void answer(httplib::Response& res, const HttpError& error) {
  res.status = error.http_status;
  for (const Header& header : error.headers) {
    res.set_header(header.name, header.value);
  }
  res.set_content(error.body, "application/json");
}

void answer_preflight(httplib::Response& res, const Preflight& preflight, bool cors) {
  res.status = 204;
  res.set_header("Allow", preflight.allow);
  if (cors) {
    res.set_header("Access-Control-Allow-Methods", preflight.allow);
    res.set_header("Access-Control-Allow-Headers",
                   "Authorization, Content-Type, x-api-key, X-Request-Id, traceparent, "
                   "anthropic-version, anthropic-beta, "
                   "anthropic-dangerous-direct-browser-access");
    res.set_header("Access-Control-Max-Age", "600");
  }
}

// Why the body that `head` announces is not read. A route without a body may be open to everybody
// and served by the reserve threads, which must not wait for a client.
std::optional<Refusal> refusal_of_body(const RequestHead& head, const Target& target) {
  if (!head.has_body()) {
    return std::nullopt;
  }
  if (const auto* refusal = std::get_if<Refusal>(&target)) {
    return *refusal;
  }
  const auto* route = std::get_if<const Route*>(&target);
  if (route != nullptr && (*route)->method == "POST") {
    return std::nullopt;
  }
  return refuse(413, fmt::format("{} {} takes no body, got one", head.method, head.raw_path));
}

void log_request(const RequestHead& head, int http_status, const std::string& request_id) {
  DI_LOG_DEBUG("{} {} {} request_id={}", head.method, head.raw_path, http_status, request_id);
}

}  // namespace

void answer_error(httplib::Response& res, const Status& status) {
  answer(res, http_error(status));
}

void answer_error(const Exchange& exchange, httplib::Response& res, const Status& status) {
  answer(res, http_error(status, error_style(exchange.head.path, exchange.request_id)));
}

// What the library's callbacks, which get no context, must know.
struct HttpServer::Current {
  Exchange& exchange;
  const Target& target;
};

thread_local HttpServer::Current* HttpServer::current_ = nullptr;

// Counts a request that a drain waits for.
class HttpServer::LongRunning {
 public:
  LongRunning(HttpServer& server, bool counted) : server_(server), counted_(counted) { add(1); }
  ~LongRunning() { add(-1); }
  LongRunning(const LongRunning&) = delete;
  LongRunning& operator=(const LongRunning&) = delete;

 private:
  void add(int amount) {
    if (counted_) {
      const std::lock_guard lock(server_.mutex_);
      server_.long_running_ += amount;
      server_.long_running_changed_.notify_all();
    }
  }

  HttpServer& server_;
  const bool counted_;
};

HttpServer::HttpServer(const HttpConfig& config, const HttpTuning& tuning, RouteTable routes,
                       Listener listener)
    : config_(config),
      tuning_(tuning),
      routes_(std::move(routes)),
      gate_(gate_limits(config, tuning)),
      body_budget_(static_cast<uint64_t>(config.max_buffered_bytes)),
      port_(listener.port),
      address_(std::move(listener.address)),
      poller_(std::move(listener.sockets), poller_limits(config, tuning),
              [this](Connection& connection) {
                workers_->submit([this, &connection](bool shed) { serve(connection, shed); });
              }),
      workers_(std::make_unique<WorkerPool>(worker_limits(config, tuning))) {
  // The library takes -1 for "shutting down" and would write no content; any other value will do.
  svr_sock_ = 0;
  set_keep_alive_timeout(
      std::chrono::duration_cast<std::chrono::seconds>(tuning.keep_alive_timeout).count());
  set_keep_alive_max_count(kKeepAliveRequests);
  install_callbacks();
}

HttpServer::~HttpServer() {
  shutdown(base::steady_now());
  poller_.stop();
  workers_.reset();
}

void HttpServer::start() {
  poller_.start();
}

bool HttpServer::shutdown(base::TimePoint deadline) {
  begin_drain();
  {
    std::unique_lock lock(mutex_);
    long_running_changed_.wait_until(lock, deadline, [this] { return long_running_ == 0; });
  }
  poller_.stop_accepting();
  abandon_.store(true, std::memory_order_release);
  const auto all_quiet = [this] {
    return workers_->wait_idle(base::steady_now() + tuning_.abandon_timeout);
  };
  if (all_quiet()) {
    return true;
  }
  poller_.shutdown_connections();
  return all_quiet();
}

void HttpServer::serve(Connection& connection, bool shed) {
  bool keep = false;
  connection.set_hurried(shed);
  try {
    do {
      keep = serve_one(connection, shed);
      // Some clients end a body with a line break of their own; no head begins with it.
      drop_leading_empty_lines(connection.input());
      // A pipelined request is served at once; half of one waits without a thread. The few threads
      // in reserve take one request each, so that no client keeps them from others.
    } while (keep && !shed && head_is_decided(connection.input(), HeadLimits{}));
  } catch (const std::exception& error) {
    DI_LOG_ERROR("a request ended with an exception: {}", error.what());
    keep = false;
  }
  poller_.release(connection, keep);
}

bool HttpServer::serve_one(Connection& connection, bool shed) {
  const base::TimePoint received = base::steady_now();
  auto taken = gate_.take_head(connection);
  if (const auto* refusal = std::get_if<Refusal>(&taken)) {
    refuse_request(connection, *refusal, nullptr, request_id_for({}));
    return false;
  }
  const auto* head = std::get_if<RequestHead>(&taken);
  if (head == nullptr) {
    return false;
  }
  const std::string request_id = request_id_for(head->header("X-Request-Id"));
  const auto target = routes_.resolve(*head, shed);
  if (const auto refusal = refusal_of_body(*head, target)) {
    refuse_request(connection, *refusal, head, request_id);
    return false;
  }
  // From here on a drain waits: whoever is still sending the body gets an answer.
  const auto* route = std::get_if<const Route*>(&target);
  const LongRunning counted(*this, route != nullptr && (*route)->long_running);
  BodyLease lease(body_budget_);
  auto body = gate_.read_body(connection, *head, lease);
  if (const auto* body_refusal = std::get_if<Refusal>(&body)) {
    refuse_request(connection, *body_refusal, head, request_id);
    return false;
  }
  if (std::holds_alternative<ClientLeft>(body)) {
    return false;
  }
  return answer(connection, *head, std::get<std::string>(std::move(body)), lease, target,
                request_id, received);
}

// Lets the library write the answer; true if the connection can take another request.
bool HttpServer::answer(Connection& connection, const RequestHead& head, std::string body,
                        BodyLease& lease, const Target& target, const std::string& request_id,
                        base::TimePoint received) {
  Exchange exchange{.connection = connection,
                    .head = head,
                    .body = std::move(body),
                    .request_id = request_id,
                    .received = received,
                    .abandon = abandon_,
                    .lease = lease};
  Current current{exchange, target};
  const bool keep = head.wants_keep_alive && !draining_.load(std::memory_order_relaxed);
  GateStream stream(connection, compose_head(head), tuning_.write_timeout);
  bool closed = false;
  current_ = &current;
  bool served = false;
  try {
    served = process_request(stream, /*close_connection=*/!keep, closed, nullptr);
  } catch (const std::exception& error) {
    DI_LOG_ERROR("request_id={}: {}", request_id, error.what());
  }
  current_ = nullptr;
  const bool healthy = served && !connection.write_failed() && !connection.gone();
  if (healthy && (!keep || exchange.close) && connection.has_unread()) {
    // Closing over unread bytes resets the connection, and the client may lose the answer.
    connection.finish_and_drain();
    return false;
  }
  return served && keep && !exchange.close && !connection.write_failed() && !connection.gone();
}

void HttpServer::refuse_request(Connection& connection, const Refusal& refusal,
                                const RequestHead* head, const std::string& request_id) {
  const bool with_body = head == nullptr || head->method != "HEAD";
  const ErrorStyle style =
      error_style(head == nullptr ? std::string_view() : head->path, request_id);
  gate_.send_refusal(connection, http_error(refusal, style), with_body,
                     common_headers(head, request_id));
  DI_LOG_DEBUG("refused with {}: {} request_id={}", refusal.http_status, refusal.status.message(),
               request_id);
}

std::vector<Header> HttpServer::common_headers(const RequestHead* head,
                                               const std::string& request_id) const {
  std::vector<Header> headers = cors_headers(
      head == nullptr ? std::string_view() : head->header("Origin"), config_.allowed_origins);
  headers.push_back({"X-Request-Id", request_id});
  if (head != nullptr && error_style(head->path, {}).shape == ErrorStyle::Shape::kMessages) {
    headers.push_back({"request-id", request_id});
  }
  return headers;
}

void HttpServer::dispatch(httplib::Response& res) {
  const Current& current = *current_;
  if (const auto* route = std::get_if<const Route*>(&current.target)) {
    (*route)->handler(current.exchange, res);
  } else if (const auto* preflight = std::get_if<Preflight>(&current.target)) {
    const std::string_view origin = current.exchange.head.header("Origin");
    answer_preflight(res, *preflight, !cors_headers(origin, config_.allowed_origins).empty());
  } else {
    const Exchange& exchange = current.exchange;
    server::answer(res, http_error(std::get<Refusal>(current.target),
                                   error_style(exchange.head.path, exchange.request_id)));
  }
}

void HttpServer::install_callbacks() {
  set_pre_routing_handler([this](const httplib::Request&, httplib::Response& res) {
    dispatch(res);
    return HandlerResponse::Handled;
  });
  set_post_routing_handler([this](const httplib::Request&, httplib::Response& res) {
    const Exchange& exchange = current_->exchange;
    for (const Header& header : common_headers(&exchange.head, exchange.request_id)) {
      res.set_header(header.name, header.value);
    }
    log_request(exchange.head, res.status, exchange.request_id);
  });
  set_exception_handler(
      [](const httplib::Request&, httplib::Response& res, std::exception_ptr thrown) {
        const std::string& id = current_->exchange.request_id;
        try {
          std::rethrow_exception(std::move(thrown));
        } catch (const std::exception& error) {
          DI_LOG_ERROR("a handler threw: {} request_id={}", error.what(), id);
        } catch (...) {
          DI_LOG_ERROR("a handler threw something unknown request_id={}", id);
        }
        answer_error(current_->exchange, res,
                     internal_error("internal error; the log has request id " + id));
      });
  set_error_handler([](const httplib::Request&, httplib::Response& res) {
    if (res.body.empty()) {
      const int http_status = res.status;
      server::answer(res, http_error(refuse(http_status, "the request could not be read")));
    }
  });
}

}  // namespace deepinfer::server
