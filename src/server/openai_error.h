#pragma once

/// The one table from failures to HTTP, and the error bodies that clients of OpenAI and of the
/// Messages protocol expect.

#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/llm.h"
#include "deepinfer/status.h"
#include "server/refusal.h"
#include "server/request_head.h"

namespace deepinfer::server {

/// What an error body looks like.
struct ErrorStyle {
  enum class Shape {
    kOpenAi,    ///< `{"error":{"message","type","param","code"}}`
    kMessages,  ///< `{"type":"error","error":{"type","message"},"request_id"}`
  };
  Shape shape = Shape::kOpenAi;
  std::string request_id;
};

/// The style of everything at `path`, also where no route is.
ErrorStyle error_style(std::string_view path, std::string request_id);

/// How a failure is answered.
struct HttpError {
  int http_status = 500;
  std::string body;
  /// `Retry-After`, `WWW-Authenticate` or `Allow`, where they apply.
  std::vector<Header> headers;
};

/// Reasons (OpenAI's `code`) that the front end itself gives.
inline constexpr std::string_view kReasonOverloaded = "server_overloaded";
inline constexpr std::string_view kReasonDraining = "server_draining";
inline constexpr std::string_view kReasonLoading = "model_loading";
inline constexpr std::string_view kReasonFailed = kReasonEngineFailed;
inline constexpr std::string_view kReasonInvalidKey = "invalid_api_key";
inline constexpr std::string_view kReasonModelNotFound = "model_not_found";

/// kResourceExhausted is 503 where the server as a whole is full (`server_overloaded`: another
/// replica may have room) and 429 where this client asked too much.
HttpError http_error(const Status& status, const ErrorStyle& style = {});
/// The same with the status code that the HTTP rules demand.
HttpError http_error(const Refusal& refusal, const ErrorStyle& style = {});

/// `Payload Too Large` for 413, and so on.
std::string_view reason_phrase(int http_status);

}  // namespace deepinfer::server
