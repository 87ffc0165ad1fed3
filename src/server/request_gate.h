#pragma once

/// Takes one complete, checked request off a connection, under total deadlines, and answers what
/// it refuses. What follows the request stays in the connection's buffer for the next one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/body_budget.h"
#include "server/connection.h"
#include "server/openai_error.h"
#include "server/refusal.h"
#include "server/request_head.h"

namespace deepinfer::server {

struct GateLimits {
  HeadLimits head;
  uint64_t body_bytes = uint64_t{64} * 1024 * 1024;
  /// From the end of the head to the end of the body.
  std::chrono::milliseconds body_timeout{30'000};
  std::chrono::milliseconds write_timeout{30'000};
};

/// The client left before its request was complete; there is nobody to answer.
struct ClientLeft {};

/// Stateless but for its limits; one thread per connection.
class RequestGate {
 public:
  explicit RequestGate(const GateLimits& limits) : limits_(limits) {}

  /// Takes the head from `connection.input()`, where the poll thread has put it. Never waits: a
  /// head that is still incomplete ran out of time (408).
  std::variant<ClientLeft, Refusal, RequestHead> take_head(Connection& connection) const;

  /// Reads the body that `head` announces. Sends `100 Continue` first when it was asked for and
  /// nothing has arrived. What has arrived is counted on `lease`; 503 when that cannot grow.
  std::variant<ClientLeft, Refusal, std::string> read_body(Connection& connection,
                                                           const RequestHead& head,
                                                           BodyLease& lease) const;

  /// Answers with the refusal and `extra_headers`, and ends the connection so that the client
  /// can still read the answer.
  void send_refusal(Connection& connection, const HttpError& error, bool with_body,
                    const std::vector<Header>& extra_headers) const;

 private:
  using BodyResult = std::variant<ClientLeft, Refusal, std::string>;
  BodyResult read_sized(Connection& connection, uint64_t size, BodyLease& lease) const;
  BodyResult read_chunked(Connection& connection, BodyLease& lease) const;

  const GateLimits limits_;
};

}  // namespace deepinfer::server
