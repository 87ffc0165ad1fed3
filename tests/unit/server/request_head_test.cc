#include "server/request_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepinfer::server {
namespace {

// Status of the refusal, 200 if accepted, 0 if more bytes are needed.
int status_of(const std::string& bytes, const HeadLimits& limits = {}) {
  const HeadResult result = parse_head(bytes, limits);
  if (const auto* refusal = std::get_if<Refusal>(&result)) {
    return refusal->http_status;
  }
  return std::holds_alternative<NeedMore>(result) ? 0 : 200;
}

RequestHead accepted(const std::string& bytes) {
  HeadResult result = parse_head(bytes, {});
  EXPECT_TRUE(std::holds_alternative<RequestHead>(result)) << bytes;
  return std::holds_alternative<RequestHead>(result) ? std::get<RequestHead>(std::move(result))
                                                     : RequestHead{};
}

std::string with(const std::string& headers, const std::string& method = "POST") {
  return method + " /x HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n";
}

TEST(RequestHead, ReadsAPlainRequest) {
  const RequestHead head =
      accepted("GET /v1/models?limit=5 HTTP/1.1\r\nHost: h\r\nX-A:  b \r\n\r\n");
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path, "/v1/models");
  EXPECT_EQ(head.header("x-a"), "b");
  EXPECT_TRUE(head.wants_keep_alive);
  EXPECT_FALSE(head.has_body());
}

TEST(RequestHead, WaitsForTheEmptyLineAtEverySplit) {
  const std::string whole = with("Content-Length: 5\r\n");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(status_of(whole.substr(0, size)), 0) << size;
    EXPECT_FALSE(head_is_decided(std::string_view(whole).substr(0, size), {})) << size;
  }
  EXPECT_EQ(status_of(whole), 200);
  EXPECT_TRUE(head_is_decided(whole, {}));
}

TEST(RequestHead, LeavesWhatFollowsTheHead) {
  const std::string head = with("Content-Length: 5\r\n");
  EXPECT_EQ(accepted(head + "hello GET").size_bytes, head.size());
}

TEST(RequestHead, RefusesOddContentLengths) {
  for (const char* value : {"5abc", "+5", "0x5", "abc", "5, 5", "-1", "", " ", "5 5", "٥"}) {
    EXPECT_EQ(status_of(with("Content-Length: " + std::string(value) + "\r\n")), 400) << value;
  }
  EXPECT_EQ(status_of(with("Content-Length: 18446744073709551621\r\n")), 413);
  EXPECT_EQ(status_of(with("Content-Length: 5\r\nContent-Length: 6\r\n")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 5\r\nContent-Length: 05\r\n")), 400);
  EXPECT_EQ(status_of(with("Content-Length: 5\r\nContent-Length: 5\r\n")), 200);
}

TEST(RequestHead, RefusesEveryTransferEncodingButChunked) {
  EXPECT_EQ(status_of(with("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(status_of(with("Transfer-Encoding: identity\r\n")), 501);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), 501);
  EXPECT_EQ(status_of(with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_TRUE(accepted(with("Transfer-Encoding: Chunked\r\n")).chunked);
}

TEST(RequestHead, RefusesAmbiguousHeaderLines) {
  EXPECT_EQ(status_of(with("Content-Length : 5\r\n")), 400);
  EXPECT_EQ(status_of(with(" folded\r\n")), 400);
  EXPECT_EQ(status_of(with("X: a\r\n\tfolded\r\n")), 400);
  EXPECT_EQ(status_of(with("no colon\r\n")), 400);
  EXPECT_EQ(status_of(with(": empty name\r\n")), 400);
  EXPECT_EQ(status_of(with(std::string("X: a\0b\r\n", 8))), 400);
  EXPECT_EQ(status_of(with("X: a\x7f\r\n")), 400);
}

TEST(RequestHead, RefusesBareLineFeedsAtOnce) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\n\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: a\rb\r\n\r\n"), 400);
  EXPECT_TRUE(head_is_decided("GET / HTTP/1.1\n", {}));
}

TEST(RequestHead, WantsOneHost) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200);
}

TEST(RequestHead, ChecksTheRequestLine) {
  EXPECT_EQ(status_of("GET  / HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / FTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET x HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET * HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 200);
  EXPECT_EQ(status_of("CONNECT a:80 HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(status_of("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(status_of("\x16\x03\x01\x02 /\r\n\r\n"), 400);
}

TEST(RequestHead, CutsAbsoluteTargetsToTheirPath) {
  EXPECT_EQ(accepted("GET http://a.b:1/health?x HTTP/1.1\r\nHost: h\r\n\r\n").path, "/health");
  EXPECT_EQ(accepted("GET HTTPS://a.b HTTP/1.1\r\nHost: h\r\n\r\n").path, "/");
  EXPECT_EQ(accepted("GET http://a.b?x=/y HTTP/1.1\r\nHost: h\r\n\r\n").path, "/");
}

TEST(RequestHead, DecodesThePathOnce) {
  EXPECT_EQ(accepted("GET /%68ealth HTTP/1.1\r\nHost: h\r\n\r\n").path, "/health");
  EXPECT_EQ(accepted("GET /%2568 HTTP/1.1\r\nHost: h\r\n\r\n").path, "/%68");
  EXPECT_EQ(accepted("GET /a%zz%4 HTTP/1.1\r\nHost: h\r\n\r\n").path, "/a%zz%4");
}

TEST(RequestHead, BoundsSizeAndCount) {
  const std::string line = "X: " + std::string(7000, 'a') + "\r\n";
  EXPECT_EQ(status_of(with(line + line + line)), 431);
  EXPECT_EQ(status_of(with("X: " + std::string(8000, 'a') + "\r\n")), 431);
  EXPECT_EQ(status_of(with("X: " + std::string(3000, '%') + "\r\n")), 431);
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += "A: b\r\n";
  }
  EXPECT_EQ(status_of(with(many)), 431);
  EXPECT_EQ(status_of("GET /" + std::string(4096, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET /" + std::string(20000, 'a')), 414);
  EXPECT_TRUE(head_is_decided(std::string(20000, 'a'), {}));
}

TEST(RequestHead, RefusesBodiesItCannotTake) {
  EXPECT_EQ(status_of(with("Content-Encoding: gzip\r\n")), 415);
  EXPECT_EQ(status_of(with("Content-Encoding: identity\r\n")), 200);
  EXPECT_EQ(status_of(with("Content-Type: multipart/form-data; boundary=x\r\n")), 415);
  EXPECT_EQ(status_of(with("Expect: something\r\n")), 417);
  EXPECT_TRUE(accepted(with("Expect: 100-Continue\r\n")).expects_continue);
}

TEST(RequestHead, SeesWhoWantsToClose) {
  EXPECT_FALSE(accepted(with("Connection: close\r\n")).wants_keep_alive);
  EXPECT_FALSE(accepted(with("Connection: foo, CLOSE\r\n")).wants_keep_alive);
  EXPECT_FALSE(accepted(with("Connection: a\r\nConnection: close\r\n")).wants_keep_alive);
  EXPECT_TRUE(accepted(with("Connection: keep-alive\r\n")).wants_keep_alive);
  EXPECT_FALSE(accepted("GET / HTTP/1.0\r\n\r\n").wants_keep_alive);
}

TEST(RequestHead, HandsOnOnlyHarmlessHeaders) {
  const RequestHead head = accepted(
      with("Range: bytes=0-\r\nIf-Range: x\r\nAccept-Encoding: br\r\nUpgrade: h2c\r\n"
           "REMOTE_ADDR: 1.2.3.4\r\nLocal_Port: 1\r\nConnection: close\r\nExpect: 100-continue\r\n"
           "Content-Length: 5\r\nAuthorization: Bearer a%0d%0ab\r\n"));
  EXPECT_EQ(compose_head(head),
            "POST /x HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a%250d%250ab\r\n\r\n");
}

TEST(RequestHead, DropsEmptyLinesInFront) {
  std::string bytes = "\r\n\r\nGET";
  drop_leading_empty_lines(bytes);
  EXPECT_EQ(bytes, "GET");
}

}  // namespace
}  // namespace deepinfer::server
