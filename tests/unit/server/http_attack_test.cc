/// Requests that crash, confuse or exhaust the HTTP library when it reads the socket itself
/// (its known weaknesses), sent to the real server on the real stack size.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http_fixture.h"

namespace deepinfer::server {
namespace {

using testing::get_text;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;

class HttpAttackTest : public testing::HttpFixture {};

TEST_F(HttpAttackTest, LongRangesDoNotRecurse) {
  start();
  for (const size_t digits : {500U, 2000U, 7900U}) {
    const std::string range = "Range: bytes=" + std::string(digits, '1') + "-\r\n";
    EXPECT_EQ(exchange(get_text("/health", range)).status, 200);
  }
  std::string many = "Range: bytes=0-1";
  for (int i = 0; i < 1000; ++i) {
    many += ",0-1";
  }
  const RawResponse response = exchange(get_text("/health", many + "\r\n"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "ok");
}

TEST_F(HttpAttackTest, LongPathsDoNotRecurse) {
  start();
  for (const size_t size : {1000U, 2000U, 4095U}) {
    EXPECT_EQ(exchange(get_text("/" + std::string(size - 1, 'a'))).status, 404);
    EXPECT_EQ(exchange(get_text("/v1/models/" + std::string(size - 20, '%'))).status, 404);
  }
  EXPECT_TRUE(alive());
}

TEST_F(HttpAttackTest, MultipartIsRefusedUnread) {
  start();
  const std::string name(4000, 'n');
  const std::string body =
      "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\nv\r\n--x--\r\n";
  RawClient client = connect();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=x\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(client.read_response()->status, 415);
  EXPECT_TRUE(alive());
}

TEST_F(HttpAttackTest, SmugglingAttemptsEndTheConnection) {
  start();
  const std::string hidden = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::vector<std::string> attempts = {
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n" +
          hidden,
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 40\r\n\r\nhello" +
          hidden,
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" +
          hidden,
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\nhello" + hidden,
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n" +
          hidden,
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n" +
          hidden,
      "GET /health HTTP/1.1\nHost: h\n\n" + hidden,
  };
  for (const std::string& attempt : attempts) {
    RawClient client = connect();
    client.send(attempt);
    const auto response = client.read_response();
    ASSERT_TRUE(response) << attempt;
    EXPECT_GE(response->status, 400) << attempt;
    EXPECT_TRUE(client.wait_for_close());
    EXPECT_TRUE(client.received().empty()) << attempt << client.received();
  }
  EXPECT_TRUE(alive());
}

TEST_F(HttpAttackTest, BodiesOfRoutesWithoutBodyAreRefusedUnread) {
  config_.api_keys = {"key"};
  start();
  const std::string hidden = "GET /health HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string sized = "Content-Length: " + std::to_string(hidden.size()) + "\r\n";
  for (const std::string& announcement :
       {sized, sized + "Expect: 100-continue\r\n", std::string("Content-Length: 67108864\r\n"),
        std::string("Transfer-Encoding: chunked\r\n")}) {
    for (const std::string method : {"GET", "HEAD", "OPTIONS"}) {
      RawClient client = connect();
      client.send(get_text("/health", announcement, method) + hidden);
      const auto response = client.read_response(method == "HEAD");
      ASSERT_TRUE(response) << method << announcement;
      EXPECT_EQ(response->status, 413) << method << announcement;
      EXPECT_EQ(response->header("connection"), "close");
      EXPECT_TRUE(client.wait_for_close());
      EXPECT_TRUE(client.received().empty()) << client.received();
    }
  }
  EXPECT_EQ(exchange(get_text("/health", "Content-Length: 0\r\n")).body, "ok");
}

TEST_F(HttpAttackTest, AnnouncedBodiesHoldNoReserveWorker) {
  tuning_.workers.reserve = 1;
  config_.max_streams = 1;
  start();
  RawClient busy = connect();
  busy.send(post_text("/hold", "x"));
  wait_for_held(1);
  RawClient client = connect();
  client.send(get_text("/health", "Content-Length: 1\r\n"));
  EXPECT_EQ(client.read_response()->status, 413);
  EXPECT_TRUE(alive());
}

TEST_F(HttpAttackTest, APostWithoutLengthHasNoBody) {
  start();
  const RawResponse response = exchange("POST /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
}

TEST_F(HttpAttackTest, HugeLinesAndManyHeadersAreCutOff) {
  start();
  RawClient line = connect();
  line.send("GET /" + std::string(1 << 20, 'a'));
  EXPECT_EQ(line.read_response()->status, 414);
  RawClient header = connect();
  header.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(1 << 20, 'a'));
  EXPECT_EQ(header.read_response()->status, 431);
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 3000; ++i) {
    many += "A: b\r\n";
  }
  RawClient headers = connect();
  headers.send(many + "\r\n");
  EXPECT_EQ(headers.read_response()->status, 431);
}

TEST_F(HttpAttackTest, CompressedBodiesAreRefused) {
  start();
  for (const char* coding : {"gzip", "deflate", "br", "gzip, identity"}) {
    EXPECT_EQ(exchange(post_text("/echo", "x", "Content-Encoding: " + std::string(coding) + "\r\n"))
                  .status,
              415);
  }
}

TEST_F(HttpAttackTest, AnswersAreNeverCompressed) {
  start();
  const RawResponse response =
      exchange(post_text("/echo", std::string(1000, 'x'), "Accept-Encoding: br, gzip\r\n"));
  EXPECT_EQ(response.headers.count("content-encoding"), 0U);
  EXPECT_EQ(response.body.size(), 1000U);
}

TEST_F(HttpAttackTest, OtherProtocolsGetAnErrorAndAClose) {
  start();
  for (const std::string& bytes : {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                                   std::string("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
                                   std::string("\x16\x03\x01\x02\x00\x01\x00\x01\n\xfc", 10)}) {
    RawClient client = connect();
    client.send(bytes);
    EXPECT_GE(client.read_response()->status, 400);
    EXPECT_TRUE(client.wait_for_close());
  }
}

TEST_F(HttpAttackTest, SurvivesRandomBytes) {
  start();
  unsigned seed = 1;
  for (int round = 0; round < 200; ++round) {
    std::string bytes = round % 2 == 0 ? "" : post_text("/echo", "hello");
    for (int i = 0; i < 40; ++i) {
      seed = seed * 1664525U + 1013904223U;
      const char c = static_cast<char>(seed >> 24);
      if (bytes.size() < 60) {
        bytes += c;
      } else {
        bytes[(seed >> 8) % bytes.size()] = c;
      }
    }
    RawClient client = connect();
    client.send(bytes);
    client.half_close();
    client.wait_for_close();
  }
  EXPECT_TRUE(alive());
}

}  // namespace
}  // namespace deepinfer::server
