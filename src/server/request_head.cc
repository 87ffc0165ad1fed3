#include "server/request_head.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace deepinfer::server {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::array<std::string_view, 8> kMethods = {"GET",    "HEAD",    "POST",  "PUT",
                                                      "DELETE", "OPTIONS", "TRACE", "PATCH"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_token_char(char c) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

std::string_view trim(std::string_view text) {
  static constexpr std::string_view kBlank = " \t";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// `http://host/path` cut to `/path`; other forms as they are.
std::string_view origin_form(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (target.size() > scheme.size() &&
        equals_ignoring_case(target.substr(0, scheme.size()), scheme)) {
      const size_t slash = target.find_first_of("/?", scheme.size());
      const bool has_path = slash != std::string_view::npos && target[slash] == '/';
      return has_path ? target.substr(slash) : std::string_view("/");
    }
  }
  return target;
}

std::optional<Refusal> parse_version(std::string_view version, RequestHead& head) {
  if (version == "HTTP/1.1" || version == "HTTP/1.0") {
    head.minor_version = version.back() - '0';
    return std::nullopt;
  }
  if (version.substr(0, 5) == "HTTP/") {
    return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  return refuse(400, "the request line does not end with an HTTP version");
}

std::optional<Refusal> parse_target(std::string_view target, const HeadLimits& limits,
                                    RequestHead& head) {
  if (target.size() > limits.target_bytes) {
    return refuse(414,
                  fmt::format("the request target is longer than {} bytes", limits.target_bytes));
  }
  const std::string_view origin = origin_form(target);
  const bool asterisk = origin == "*" && head.method == "OPTIONS";
  if (origin.empty() || (origin.front() != '/' && !asterisk)) {
    return refuse(400, "the request target is neither a path nor an http URL");
  }
  head.raw_path = std::string(origin.substr(0, origin.find_first_of("?#")));
  head.path = percent_decoded(head.raw_path);
  return std::nullopt;
}

std::optional<Refusal> parse_request_line(std::string_view line, const HeadLimits& limits,
                                          RequestHead& head) {
  if (std::any_of(line.begin(), line.end(), is_control)) {
    return refuse(400, "control bytes in the request line");
  }
  if (std::count(line.begin(), line.end(), ' ') != 2) {
    return refuse(400, "the request line must hold exactly two spaces");
  }
  const size_t first = line.find(' ');
  const size_t second = line.rfind(' ');
  head.method = std::string(line.substr(0, first));
  if (!is_token(head.method)) {
    return refuse(400, "the request method is not a token");
  }
  if (auto refusal = parse_version(line.substr(second + 1), head)) {
    return refusal;
  }
  if (auto refusal = parse_target(line.substr(first + 1, second - first - 1), limits, head)) {
    return refusal;
  }
  if (std::find(kMethods.begin(), kMethods.end(), head.method) == kMethods.end()) {
    return refuse(501, "unknown request method");
  }
  return std::nullopt;
}

std::optional<Refusal> parse_header_line(std::string_view line, const HeadLimits& limits,
                                         RequestHead& head) {
  if (head.headers.size() == limits.num_headers) {
    return refuse(431, fmt::format("more than {} headers", limits.num_headers));
  }
  const auto percents = static_cast<size_t>(std::count(line.begin(), line.end(), '%'));
  if (line.size() + 2 * percents > limits.line_bytes) {
    return refuse(431, fmt::format("a header line is longer than {} bytes", limits.line_bytes));
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    return refuse(400, "a header line is not of the form 'name: value'");
  }
  const std::string_view value = trim(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; })) {
    return refuse(400, "control bytes in a header value");
  }
  head.headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return std::nullopt;
}

std::vector<std::string_view> values_of(const RequestHead& head, std::string_view name) {
  std::vector<std::string_view> values;
  for (const Header& header : head.headers) {
    if (equals_ignoring_case(header.name, name)) {
      values.push_back(header.value);
    }
  }
  return values;
}

std::optional<Refusal> check_host(const RequestHead& head) {
  const size_t hosts = values_of(head, "Host").size();
  if (hosts > 1 || (hosts == 0 && head.minor_version == 1)) {
    return refuse(400, fmt::format("expected one Host header, got {}", hosts));
  }
  return std::nullopt;
}

std::optional<Refusal> check_content_length(RequestHead& head) {
  const auto lengths = values_of(head, "Content-Length");
  for (const std::string_view text : lengths) {
    const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || text != lengths.front()) {
      return refuse(400, "Content-Length must be one decimal number");
    }
    uint64_t length = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), length);
    if (parsed.ec != std::errc()) {
      return refuse(413, "Content-Length is too large");
    }
    head.content_length = length;
  }
  return std::nullopt;
}

std::optional<Refusal> check_transfer_encoding(RequestHead& head) {
  const auto encodings = values_of(head, "Transfer-Encoding");
  if (encodings.empty()) {
    return std::nullopt;
  }
  if (head.minor_version == 0) {
    return refuse(400, "Transfer-Encoding needs HTTP/1.1");
  }
  if (encodings.size() != 1 || !equals_ignoring_case(encodings.front(), "chunked")) {
    return refuse(501, "the only Transfer-Encoding understood is 'chunked'");
  }
  if (head.content_length.has_value()) {
    return refuse(400, "Content-Length and Transfer-Encoding exclude each other");
  }
  head.chunked = true;
  return std::nullopt;
}

std::optional<Refusal> check_body_kind(const RequestHead& head) {
  for (const std::string_view encoding : values_of(head, "Content-Encoding")) {
    if (!encoding.empty() && !equals_ignoring_case(encoding, "identity")) {
      return refuse(415, "compressed request bodies are not accepted");
    }
  }
  for (const std::string_view type : values_of(head, "Content-Type")) {
    if (equals_ignoring_case(type.substr(0, 10), "multipart/")) {
      return refuse(415, "multipart bodies are not accepted; send application/json");
    }
  }
  return std::nullopt;
}

std::optional<Refusal> check_expect(RequestHead& head) {
  for (const std::string_view expect : values_of(head, "Expect")) {
    if (!equals_ignoring_case(expect, "100-continue")) {
      return refuse(417, "the only expectation understood is '100-continue'");
    }
    head.expects_continue = head.minor_version == 1;
  }
  return std::nullopt;
}

// Answers of HTTP/1.0 clients may need the end of the connection as their end, so those
// connections are never kept.
bool wants_keep_alive(const RequestHead& head) {
  if (head.minor_version == 0) {
    return false;
  }
  for (std::string_view value : values_of(head, "Connection")) {
    while (!value.empty()) {
      const size_t comma = value.find(',');
      if (equals_ignoring_case(trim(value.substr(0, comma)), "close")) {
        return false;
      }
      value = comma == std::string_view::npos ? std::string_view() : value.substr(comma + 1);
    }
  }
  return true;
}

std::optional<Refusal> check_framing(RequestHead& head) {
  using Check = std::optional<Refusal> (*)(RequestHead&);
  static constexpr std::array<Check, 5> kChecks = {
      [](RequestHead& h) { return check_host(h); }, check_content_length, check_transfer_encoding,
      [](RequestHead& h) { return check_body_kind(h); }, check_expect};
  for (const Check check : kChecks) {
    if (auto refusal = check(head)) {
      return refusal;
    }
  }
  head.wants_keep_alive = wants_keep_alive(head);
  return std::nullopt;
}

std::optional<Refusal> parse_lines(std::string_view lines, const HeadLimits& limits,
                                   RequestHead& head) {
  bool first = true;
  while (!lines.empty()) {
    const size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines = lines.substr(end + 2);
    auto refusal =
        first ? parse_request_line(line, limits, head) : parse_header_line(line, limits, head);
    if (refusal) {
      return refusal;
    }
    first = false;
  }
  return std::nullopt;
}

// A line feed without carriage return, or the reverse, before the end of the head: no further
// byte makes such a head valid.
bool has_bare_line_break(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r')) {
      return true;
    }
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] != '\n') {
      return true;
    }
  }
  return false;
}

bool is_withheld(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "Content-Length", "Transfer-Encoding", "Connection",      "Keep-Alive", "Expect",
      "Range",          "If-Range",          "Accept-Encoding", "Upgrade"};
  const auto same = [name](std::string_view other) { return equals_ignoring_case(name, other); };
  return std::any_of(kNames.begin(), kNames.end(), same) ||
         equals_ignoring_case(name.substr(0, 7), "REMOTE_") ||
         equals_ignoring_case(name.substr(0, 6), "LOCAL_");
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view RequestHead::header(std::string_view name) const {
  const auto values = values_of(*this, name);
  return values.empty() ? std::string_view() : values.front();
}

HeadResult parse_head(std::string_view bytes, const HeadLimits& limits) {
  const size_t end = bytes.find(kHeadEnd);
  const std::string_view text = bytes.substr(0, end);
  if (has_bare_line_break(text)) {
    return refuse(400, "lines of the head must end with CR LF");
  }
  if (std::min(text.size(), bytes.size()) + kHeadEnd.size() > limits.head_bytes) {
    const bool in_first_line = text.find("\r\n") == std::string_view::npos;
    return in_first_line ? refuse(414, "the request line is too long")
                         : refuse(431, fmt::format("the request head is longer than {} bytes",
                                                   limits.head_bytes));
  }
  if (end == std::string_view::npos) {
    return NeedMore{};
  }
  RequestHead head;
  head.size_bytes = end + kHeadEnd.size();
  if (auto refusal = parse_lines(bytes.substr(0, end + 2), limits, head)) {
    return *std::move(refusal);
  }
  if (auto refusal = check_framing(head)) {
    return *std::move(refusal);
  }
  return head;
}

bool head_is_decided(std::string_view bytes, const HeadLimits& limits) {
  const size_t end = bytes.find(kHeadEnd);
  return end != std::string_view::npos || bytes.size() + kHeadEnd.size() > limits.head_bytes ||
         has_bare_line_break(bytes);
}

void drop_leading_empty_lines(std::string& bytes) {
  size_t skip = 0;
  while (bytes.compare(skip, 2, "\r\n") == 0) {
    skip += 2;
  }
  bytes.erase(0, skip);
}

std::string compose_head(const RequestHead& head) {
  std::string text =
      fmt::format("{} {} HTTP/1.{}\r\n", head.method, head.raw_path, head.minor_version);
  for (const Header& header : head.headers) {
    if (is_withheld(header.name)) {
      continue;
    }
    text.append(header.name).append(": ");
    for (const char c : header.value) {
      c == '%' ? text.append("%25") : text.append(1, c);
    }
    text.append("\r\n");
  }
  return text.append("\r\n");
}

}  // namespace deepinfer::server
