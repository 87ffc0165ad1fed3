#include "server/access.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr size_t kMaxRequestIdLength = 128;

std::string_view presented_key(const RequestHead& head) {
  const std::string_view authorization = head.header("Authorization");
  if (equals_ignoring_case(authorization.substr(0, kBearer.size()), kBearer)) {
    return authorization.substr(kBearer.size());
  }
  return head.header("x-api-key");
}

// Looks at every key, so that the time does not tell which one came close.
bool is_known(std::string_view key, const std::vector<std::string>& keys) {
  bool known = false;
  for (const std::string& candidate : keys) {
    known |= candidate.size() == key.size() &&
             CRYPTO_memcmp(candidate.data(), key.data(), key.size()) == 0;
  }
  return known;
}

bool is_id_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         c == '_' || c == ':' || c == '-';
}

}  // namespace

Status check_api_key(const RequestHead& head, const std::vector<std::string>& keys) {
  if (keys.empty()) {
    return Status::ok();
  }
  const std::string_view key = presented_key(head);
  if (key.empty()) {
    return Status(StatusCode::kUnauthenticated,
                  "no API key; send 'Authorization: Bearer KEY' or 'x-api-key: KEY'")
        .with_reason(std::string(kReasonInvalidKey));
  }
  if (!is_known(key, keys)) {
    return Status(StatusCode::kUnauthenticated, "the API key is not valid here")
        .with_reason(std::string(kReasonInvalidKey));
  }
  return Status::ok();
}

std::string request_id_for(std::string_view from_client) {
  if (!from_client.empty() && from_client.size() <= kMaxRequestIdLength &&
      std::all_of(from_client.begin(), from_client.end(), is_id_char)) {
    return std::string(from_client);
  }
  static constexpr char kHex[] = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  DI_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string id;
  for (const unsigned char byte : bytes) {
    id.push_back(kHex[byte >> 4]);
    id.push_back(kHex[byte & 15]);
  }
  return id;
}

std::vector<Header> cors_headers(std::string_view origin, const std::vector<std::string>& allowed) {
  const bool any = std::find(allowed.begin(), allowed.end(), "*") != allowed.end();
  const bool listed = std::find(allowed.begin(), allowed.end(), origin) != allowed.end();
  if (origin.empty() || (!any && !listed)) {
    return {};
  }
  return {{"Access-Control-Allow-Origin", any ? "*" : std::string(origin)},
          {"Access-Control-Expose-Headers", "X-Request-Id, request-id, Retry-After, Server-Timing"},
          {"Vary", "Origin"}};
}

}  // namespace deepinfer::server
