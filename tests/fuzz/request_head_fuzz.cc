// Heads of HTTP requests under three sets of limits. What passes is composed for the HTTP
// library in a form that reads the same again.

#include <algorithm>
#include <array>
#include <variant>

#include "fuzz/fuzz.h"
#include "recipe/utf8.h"
#include "server/request_head.h"

using namespace deepinfer;  // a target is one function
using server::HeadLimits;
using server::NeedMore;
using server::Refusal;
using server::RequestHead;

namespace {

constexpr std::array<HeadLimits, 3> kLimits = {{
    {},
    {.head_bytes = 64, .num_headers = 2, .line_bytes = 32, .target_bytes = 16},
    {.head_bytes = 4096, .num_headers = 3, .line_bytes = 40, .target_bytes = 64},
}};
constexpr HeadLimits kWide = {
    .head_bytes = 1 << 20, .num_headers = 1000, .line_bytes = 1 << 20, .target_bytes = 1 << 20};

void expect_head_refusal(const Refusal& refusal) {
  fuzz::expect(refusal.http_status >= 400 && refusal.http_status <= 505,
               "a refusal that is no error");
  fuzz::expect(refusal.http_status != 500 && refusal.http_status != 503, "blamed on the server");
  fuzz::expect(!refusal.status.message().empty() && recipe::is_valid_utf8(refusal.status.message()),
               "a refusal without words", refusal.status.message());
}

void expect_same_again(const RequestHead& head) {
  const std::string composed = server::compose_head(head);
  const auto result = server::parse_head(composed, kWide);
  const auto* again = std::get_if<RequestHead>(&result);
  fuzz::expect(again != nullptr, "a composed head that is refused", composed);
  fuzz::expect(again->size_bytes == composed.size(), "a composed head of two heads", composed);
  fuzz::expect(again->method == head.method && again->raw_path == head.raw_path &&
                   again->path == head.path && again->minor_version == head.minor_version,
               "a composed head that reads otherwise", composed);
  fuzz::expect(!again->has_body() && !again->expects_continue, "framing that was handed on",
               composed);
}

void expect_checked(const RequestHead& head, std::string_view bytes, const HeadLimits& limits) {
  fuzz::expect(head.size_bytes <= bytes.size() && head.size_bytes <= limits.head_bytes,
               "a head beyond its bytes", bytes);
  fuzz::expect(head.headers.size() <= limits.num_headers, "too many headers", bytes);
  fuzz::expect(!(head.chunked && head.content_length), "a body framed twice", bytes);
  fuzz::expect(!head.raw_path.empty() && !head.method.empty(), "no path or method", bytes);
  // Neither fewer nor more bytes make another request of it.
  for (const size_t cut : {head.size_bytes - 1, head.size_bytes / 2}) {
    const auto shorter = server::parse_head(bytes.substr(0, cut), limits);
    fuzz::expect(!std::holds_alternative<RequestHead>(shorter), "a head before its end", bytes);
  }
  const auto alone = server::parse_head(bytes.substr(0, head.size_bytes), limits);
  const auto* same = std::get_if<RequestHead>(&alone);
  fuzz::expect(same != nullptr && same->raw_path == head.raw_path &&
                   same->content_length == head.content_length && same->chunked == head.chunked,
               "a head that depends on the bytes behind it", bytes);
  expect_same_again(head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(fuzz::as_text(data, size));
  server::drop_leading_empty_lines(bytes);
  for (const HeadLimits& limits : kLimits) {
    const auto result = server::parse_head(bytes, limits);
    fuzz::expect(std::holds_alternative<NeedMore>(result) != server::head_is_decided(bytes, limits),
                 "two answers to whether a head is decided", bytes);
    if (const auto* refusal = std::get_if<Refusal>(&result)) {
      expect_head_refusal(*refusal);
    } else if (const auto* head = std::get_if<RequestHead>(&result)) {
      expect_checked(*head, bytes, limits);
    }
  }
  return 0;
}
