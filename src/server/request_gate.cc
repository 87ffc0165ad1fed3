#include "server/request_gate.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "server/chunked_body.h"
#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

constexpr size_t kReadBytes = size_t{64} * 1024;

Refusal body_too_slow() {
  return {408, deadline_exceeded("the request body did not arrive in time"), {}};
}

Refusal no_memory_for_body() {
  return {503,
          unavailable("the bodies of other requests take all the memory there is for them")
              .with_reason(std::string(kReasonOverloaded)),
          {}};
}

}  // namespace

std::variant<ClientLeft, Refusal, RequestHead> RequestGate::take_head(
    Connection& connection) const {
  drop_leading_empty_lines(connection.input());
  HeadResult result = parse_head(connection.input(), limits_.head);
  if (auto* refusal = std::get_if<Refusal>(&result)) {
    return std::move(*refusal);
  }
  if (auto* head = std::get_if<RequestHead>(&result)) {
    connection.input().erase(0, head->size_bytes);
    return std::move(*head);
  }
  if (connection.gone()) {
    return ClientLeft{};
  }
  return Refusal{408, deadline_exceeded("the request head did not arrive in time"), {}};
}

RequestGate::BodyResult RequestGate::read_body(Connection& connection, const RequestHead& head,
                                               BodyLease& lease) const {
  if (!head.has_body()) {
    return std::string();
  }
  if (head.content_length.value_or(0) > limits_.body_bytes) {
    return refuse(413, fmt::format("the request body has {} bytes; the limit is {}",
                                   *head.content_length, limits_.body_bytes));
  }
  if (head.expects_continue && connection.input().empty()) {
    connection.write("HTTP/1.1 100 Continue\r\n\r\n", base::steady_now() + limits_.write_timeout);
  }
  return head.chunked ? read_chunked(connection, lease)
                      : read_sized(connection, *head.content_length, lease);
}

RequestGate::BodyResult RequestGate::read_sized(Connection& connection, uint64_t size,
                                                BodyLease& lease) const {
  const base::TimePoint deadline = base::steady_now() + limits_.body_timeout;
  std::string& input = connection.input();
  const auto buffered = static_cast<size_t>(std::min<uint64_t>(size, input.size()));
  std::string body = input.substr(0, buffered);
  input.erase(0, buffered);
  while (body.size() < size) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(size - body.size(), kReadBytes));
    if (!lease.grow_to(body.size() + wanted)) {
      return no_memory_for_body();
    }
    switch (connection.read_before(body, wanted, deadline)) {
      case Connection::Read::kData:
        break;
      case Connection::Read::kNothing:
        return body_too_slow();
      case Connection::Read::kClosed:
        return ClientLeft{};
    }
    if (base::steady_now() > deadline && body.size() < size) {
      return body_too_slow();
    }
  }
  return body;
}

RequestGate::BodyResult RequestGate::read_chunked(Connection& connection, BodyLease& lease) const {
  const base::TimePoint deadline = base::steady_now() + limits_.body_timeout;
  ChunkedDecoder decoder(limits_.body_bytes);
  std::string body;
  std::string& input = connection.input();
  for (;;) {
    const size_t used = decoder.feed(input, body);
    input.erase(0, used);
    if (decoder.refusal()) {
      return *decoder.refusal();
    }
    if (decoder.done()) {
      return body;
    }
    if (!lease.grow_to(body.size() + kReadBytes)) {
      return no_memory_for_body();
    }
    switch (connection.read_before(input, kReadBytes, deadline)) {
      case Connection::Read::kData:
        break;
      case Connection::Read::kNothing:
        return body_too_slow();
      case Connection::Read::kClosed:
        return ClientLeft{};
    }
    if (base::steady_now() > deadline) {
      return body_too_slow();
    }
  }
}

void RequestGate::send_refusal(Connection& connection, const HttpError& error, bool with_body,
                               const std::vector<Header>& extra_headers) const {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Connection: close\r\n",
      error.http_status, reason_phrase(error.http_status), error.body.size());
  for (const auto& headers : {error.headers, extra_headers}) {
    for (const Header& header : headers) {
      text.append(header.name).append(": ").append(header.value).append("\r\n");
    }
  }
  text.append("\r\n");
  if (with_body) {
    text.append(error.body);
  }
  connection.write(text, base::steady_now() + limits_.write_timeout);
  connection.finish_and_drain();
}

}  // namespace deepinfer::server
