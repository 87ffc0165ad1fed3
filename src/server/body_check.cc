#include "server/body_check.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace deepinfer::server {

// Anything but JSON would mean that some web page can post here without asking first (CORS). Pages
// can leave the type out; other clients may, too, but they have no origin.
bool accept_json_body(const Exchange& exchange, httplib::Response& res) {
  static constexpr std::string_view kJson = "application/json";
  const std::string_view type = exchange.head.header("Content-Type");
  const std::string_view rest = type.substr(std::min(type.size(), kJson.size()));
  const bool json =
      equals_ignoring_case(type.substr(0, kJson.size()), kJson) &&
      (rest.empty() || std::string_view("; \t").find(rest.front()) != std::string_view::npos);
  const bool from_page = !exchange.head.header("Origin").empty();
  if ((type.empty() && !from_page) || json) {
    return true;
  }
  answer_error(
      exchange, res,
      invalid_argument(fmt::format("Content-Type must be application/json, got {}; with curl add "
                                   "-H 'Content-Type: application/json'",
                                   type.empty() ? "none" : fmt::format("'{}'", type))));
  res.status = 415;
  return false;
}

}  // namespace deepinfer::server
