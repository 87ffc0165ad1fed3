#include "protocol/messages/messages_error.h"

#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

struct TypeRow {
  StatusCode code;
  std::string_view type;
};
constexpr TypeRow kTypes[] = {
    {StatusCode::kInvalidArgument, "invalid_request_error"},
    {StatusCode::kUnimplemented, "invalid_request_error"},
    {StatusCode::kCancelled, "invalid_request_error"},
    {StatusCode::kUnauthenticated, "authentication_error"},
    {StatusCode::kNotFound, "not_found_error"},
    {StatusCode::kResourceExhausted, "rate_limit_error"},
    {StatusCode::kDeadlineExceeded, "timeout_error"},
};

void append_member(std::string_view name, std::string_view text, std::string& out) {
  out += out.back() == '{' ? "\"" : ",\"";
  out += name;
  out += "\":";
  recipe::append_json_string(text, out);
}

}  // namespace

std::string_view messages_error_type(const Status& status) {
  // The server as a whole is full; another one may have room.
  if (status.reason() == "server_overloaded") {
    return "overloaded_error";
  }
  for (const TypeRow& row : kTypes) {
    if (row.code == status.code()) {
      return row.type;
    }
  }
  return "api_error";
}

std::string messages_error_body(std::string_view type, const Status& status,
                                std::string_view request_id) {
  std::string body = R"({"type":"error","error":{)";
  append_member("type", type, body);
  append_member("message", status.message(), body);
  if (!status.param().empty()) {
    append_member("param", status.param(), body);
  }
  if (!status.reason().empty()) {
    append_member("code", status.reason(), body);
  }
  body += '}';
  if (!request_id.empty()) {
    append_member("request_id", request_id, body);
  }
  body += '}';
  return body;
}

}  // namespace deepinfer::protocol
