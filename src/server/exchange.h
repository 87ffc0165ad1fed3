#pragma once

/// One request under way, as its handler sees it.

#include <httplib.h>

#include <atomic>
#include <string>

#include "base/clock.h"
#include "server/body_budget.h"
#include "server/connection.h"
#include "server/request_head.h"

namespace deepinfer::server {

/// The worker's thread only; `abandon` is set by others.
struct Exchange {
  Connection& connection;
  const RequestHead& head;
  std::string body;
  /// From the client if usable, else made; echoed in `X-Request-Id`.
  std::string request_id;
  base::TimePoint received;
  /// Set when the drain time is over: end with an error now.
  const std::atomic<bool>& abandon;
  /// The body's share of the memory for bodies.
  BodyLease& lease;
  /// The handler wants the connection closed behind its answer.
  bool close = false;

  /// Frees the body before an answer that may take long.
  void drop_body() {
    std::string().swap(body);
    lease.give_back();
  }
};

/// Fills `res` with the error answer of `status`, as OpenAI's clients expect it.
void answer_error(httplib::Response& res, const Status& status);
/// The same as the clients of this path expect it.
void answer_error(const Exchange& exchange, httplib::Response& res, const Status& status);

}  // namespace deepinfer::server
