#include "server/openai_error.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "protocol/messages/messages_error.h"

namespace deepinfer::server {
namespace {

struct CodeRow {
  StatusCode code;
  int http_status;
};

constexpr std::array<CodeRow, 11> kCodes = {{
    {StatusCode::kOk, 500},
    {StatusCode::kInvalidArgument, 400},
    {StatusCode::kUnauthenticated, 401},
    {StatusCode::kNotFound, 404},
    {StatusCode::kFailedPrecondition, 500},
    {StatusCode::kResourceExhausted, 429},
    {StatusCode::kUnavailable, 503},
    {StatusCode::kDeadlineExceeded, 504},
    {StatusCode::kCancelled, 499},
    {StatusCode::kUnimplemented, 400},
    {StatusCode::kInternal, 500},
}};

struct PhraseRow {
  int http_status;
  std::string_view phrase;
  std::string_view type;
};

constexpr std::array<PhraseRow, 18> kPhrases = {{
    {400, "Bad Request", "invalid_request_error"},
    {401, "Unauthorized", "authentication_error"},
    {404, "Not Found", "not_found_error"},
    {405, "Method Not Allowed", "invalid_request_error"},
    {408, "Request Timeout", "timeout_error"},
    {413, "Payload Too Large", "invalid_request_error"},
    {414, "URI Too Long", "invalid_request_error"},
    {415, "Unsupported Media Type", "invalid_request_error"},
    {417, "Expectation Failed", "invalid_request_error"},
    {429, "Too Many Requests", "rate_limit_error"},
    {431, "Request Header Fields Too Large", "invalid_request_error"},
    {499, "Client Closed Request", "invalid_request_error"},
    {500, "Internal Server Error", "server_error"},
    {501, "Not Implemented", "invalid_request_error"},
    {503, "Service Unavailable", "server_error"},
    {504, "Gateway Timeout", "timeout_error"},
    {505, "HTTP Version Not Supported", "invalid_request_error"},
    {200, "OK", ""},
}};

const PhraseRow& row_of(int http_status) {
  const auto found =
      std::find_if(kPhrases.begin(), kPhrases.end(),
                   [http_status](const PhraseRow& row) { return row.http_status == http_status; });
  return found == kPhrases.end() ? row_of(500) : *found;
}

int http_status_of(const Status& status) {
  if (status.code() == StatusCode::kResourceExhausted && status.reason() == kReasonOverloaded) {
    return 503;
  }
  const auto found = std::find_if(kCodes.begin(), kCodes.end(), [&status](const CodeRow& row) {
    return row.code == status.code();
  });
  return found->http_status;
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// Monitoring tells a drain from a fault by the type.
std::string error_type(int http_status, const Status& status) {
  return std::string(status.reason() == kReasonDraining ? kReasonDraining
                                                        : row_of(http_status).type);
}

std::string openai_body(int http_status, const Status& status) {
  nlohmann::ordered_json body;
  body["error"] = {{"message", status.message()},
                   {"type", error_type(http_status, status)},
                   {"param", text_or_null(status.param())},
                   {"code", text_or_null(status.reason())}};
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string messages_body(int http_status, const Status& status, const std::string& request_id) {
  const std::string_view type =
      http_status == 413 ? "request_too_large" : protocol::messages_error_type(status);
  return protocol::messages_error_body(type, status, request_id);
}

HttpError make_error(int http_status, const Status& status, const ErrorStyle& style) {
  HttpError error{http_status,
                  style.shape == ErrorStyle::Shape::kMessages
                      ? messages_body(http_status, status, style.request_id)
                      : openai_body(http_status, status),
                  {}};
  if (http_status == 429 || http_status == 503) {
    error.headers.push_back({"Retry-After", "1"});
  }
  if (http_status == 401) {
    error.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  return error;
}

}  // namespace

ErrorStyle error_style(std::string_view path, std::string request_id) {
  static constexpr std::string_view kMessages = "/v1/messages";
  const bool below = path.substr(0, kMessages.size()) == kMessages &&
                     (path.size() == kMessages.size() || path[kMessages.size()] == '/');
  return {below ? ErrorStyle::Shape::kMessages : ErrorStyle::Shape::kOpenAi, std::move(request_id)};
}

HttpError http_error(const Status& status, const ErrorStyle& style) {
  return make_error(http_status_of(status), status, style);
}

HttpError http_error(const Refusal& refusal, const ErrorStyle& style) {
  HttpError error = make_error(refusal.http_status, refusal.status, style);
  if (!refusal.allow.empty()) {
    error.headers.push_back({"Allow", refusal.allow});
  }
  return error;
}

std::string_view reason_phrase(int http_status) {
  return row_of(http_status).phrase;
}

}  // namespace deepinfer::server
