#include "server/http_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/thread.h"
#include "http_fixture.h"

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;
using testing::get_text;
using testing::post_text;
using testing::RawClient;
using testing::RawResponse;

class HttpServerTest : public testing::HttpFixture {};
class FieldCaseHttp : public testing::HttpFixture {};

TEST_F(HttpServerTest, KeepsAConnectionForManyRequests) {
  start();
  RawClient client = connect();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(client.send(post_text("/echo", std::to_string(i))));
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, std::to_string(i));
    EXPECT_EQ(response->header("keep-alive").substr(0, 10), "timeout=75");
  }
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  RawClient client = connect();
  std::string all;
  for (int i = 0; i < 5; ++i) {
    all += post_text("/echo", "body " + std::to_string(i));
  }
  // The last byte comes later: half a request waits without being lost.
  client.send(all.substr(0, all.size() - 1));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(client.read_response()->body, "body " + std::to_string(i));
  }
  client.send(all.substr(all.size() - 1));
  EXPECT_EQ(client.read_response()->body, "body 4");
}

TEST_F(HttpServerTest, TakesRequestsByteByByte) {
  start();
  RawClient client = connect();
  for (const char byte : post_text("/echo", "slowly")) {
    ASSERT_TRUE(client.send(std::string(1, byte)));
  }
  EXPECT_EQ(client.read_response()->body, "slowly");
}

TEST_F(HttpServerTest, TakesChunkedBodies) {
  start();
  const RawResponse response = exchange(
      "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "abcde");
}

TEST_F(HttpServerTest, SendsContinueOnlyBeforeAnAcceptedBody) {
  start();
  RawClient client = connect();
  const std::string request = post_text("/echo", "wait", "Expect: 100-continue\r\n");
  client.send(request.substr(0, request.size() - 4));
  EXPECT_EQ(client.read_response()->status, 100);
  client.send("wait");
  EXPECT_EQ(client.read_response()->body, "wait");
  RawClient refused = connect();
  refused.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(refused.read_response()->status, 413);
}

TEST_F(HttpServerTest, ClosesWhenAskedTo) {
  start();
  for (const char* request : {"GET /health HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n",
                              "GET /health HTTP/1.0\r\n\r\n"}) {
    RawClient client = connect();
    client.send(request);
    EXPECT_EQ(client.read_response()->header("connection"), "close");
    EXPECT_TRUE(client.wait_for_close());
  }
}

TEST_F(HttpServerTest, ClosesWithoutAResetOverPipelinedBytes) {
  start();
  RawClient client = connect();
  client.send("GET /health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" +
              post_text("/echo", std::string(100'000, 'x')));
  EXPECT_EQ(client.read_response()->status, 200);
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_FALSE(client.was_reset());
}

TEST_F(HttpServerTest, BodiesShareABudgetWhileTheirRequestsRun) {
  config_.max_request_bytes = 1 << 20;
  config_.max_buffered_bytes = 1 << 20;
  start();
  const std::string body(700'000, 'x');
  RawClient first = connect();
  first.send(post_text("/hold", body));
  wait_for_held(1);
  for (const std::string& second :
       {post_text("/echo", body),
        "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nAAE60\r\n" + body +
            "\r\n0\r\n\r\n"}) {
    const RawResponse refused = exchange(second);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(nlohmann::json::parse(refused.body)["error"]["code"], "server_overloaded");
    EXPECT_FALSE(refused.header("retry-after").empty());
  }
  EXPECT_EQ(exchange(post_text("/echo", "small")).body, "small");
  let_go();
  EXPECT_EQ(first.read_response()->status, 200);
  // The share is given back behind the answer, so the client may be a little early.
  RawResponse later = exchange(post_text("/echo", body));
  for (int i = 0; later.status == 503 && i < 1000; ++i) {
    later = exchange(post_text("/echo", body));
  }
  EXPECT_EQ(later.body, body);
}

TEST_F(HttpServerTest, HidesWhatAHandlerThrew) {
  start();
  RawClient client = connect();
  client.send(get_text("/throw", "X-Request-Id: abc\r\n"));
  const auto response = client.read_response();
  EXPECT_EQ(response->status, 500);
  EXPECT_EQ(response->body.find("secret"), std::string::npos);
  EXPECT_EQ(response->headers.count("exception_what"), 0U);
  EXPECT_EQ(response->header("x-request-id"), "abc");
  client.send(get_text("/health"));
  EXPECT_EQ(client.read_response()->status, 200);
}

TEST_F(HttpServerTest, KeepsHeaderValuesAsSent) {
  start();
  EXPECT_EQ(exchange(get_text("/header", "X-Echo: a%0d%0aB: %41\r\n")).body, "a%0d%0aB: %41");
}

TEST_F(FieldCaseHttp, H01_AnUnreadBodyIsNeverTheNextRequest) {
  config_.api_keys = {"key"};
  start();
  RawClient client = connect();
  client.send(post_text("/echo", std::string(65536, 'x'), "Authorization: Bearer wrong\r\n") +
              get_text("/health"));
  const auto first = client.read_response();
  EXPECT_EQ(first->status, 401);
  EXPECT_EQ(first->header("connection"), "close");
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_TRUE(client.received().empty());
}

TEST_F(FieldCaseHttp, H01_NoEarlyRefusalLeavesABodyBehind) {
  config_.max_request_bytes = 1 << 20;
  start();
  const std::string body = get_text("/header", "X-Echo: smuggled\r\n") + std::string(65536, 'x');
  const std::string length = std::to_string(body.size());
  const std::vector<std::string> kHeads = {
      "POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: " + length + "\r\n",
      "PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " + length + "\r\n",
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10485760\r\n",
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n",
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12x\r\n",
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: " + length +
          "\r\n"};
  for (const std::string& head : kHeads) {
    RawClient client = connect();
    client.send(std::string(head).append("\r\n").append(body).append(get_text("/health")));
    const auto first = client.read_response();
    ASSERT_TRUE(first) << head;
    EXPECT_GE(first->status, 400) << head;
    if (const auto second = client.read_response()) {
      EXPECT_EQ(second->body, "ok") << head;
    } else {
      EXPECT_EQ(first->header("connection"), "close") << head;
      EXPECT_TRUE(client.received().empty()) << head;
    }
  }
}

TEST_F(FieldCaseHttp, H02_AnyHostIsServed) {
  start();
  for (const char* request : {"GET /health HTTP/1.1\r\nHost: llm.example.internal\r\n\r\n",
                              "GET /health HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n",
                              "GET http://x.example/health HTTP/1.1\r\nHost: x.example\r\n\r\n"}) {
    EXPECT_EQ(exchange(request).status, 200) << request;
  }
}

TEST_F(FieldCaseHttp, H03_ChunkedBodiesHaveTheSameLimit) {
  config_.max_request_bytes = 1 << 20;
  start();
  RawClient chunked = connect();
  chunked.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "40000\r\n" + std::string(0x40000, 'x') + "\r\n";
  for (int i = 0; i < 40 && chunked.send(chunk); ++i) {
  }
  EXPECT_EQ(chunked.read_response()->status, 413);
  EXPECT_EQ(exchange("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10485760\r\n\r\n").status,
            413);
  RawClient lying = connect();
  lying.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabcdef\r\n\r\n");
  EXPECT_EQ(lying.read_response()->body, "abc");
  EXPECT_EQ(lying.read_response()->status, 400);
}

TEST_F(FieldCaseHttp, H04_BigBodiesAreTaken) {
  start();
  const std::string body(8 << 20, 'x');
  EXPECT_EQ(exchange(post_text("/echo", body)).body, body);
}

TEST_F(FieldCaseHttp, H06_QueriesHeadAndMethods) {
  start();
  EXPECT_EQ(exchange(post_text("/echo?beta=true&a=?b", "x")).body, "x");
  EXPECT_EQ(exchange(get_text("/health/?x")).status, 200);
  const RawResponse head = exchange(get_text("/health", "", "HEAD"));
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-length"), "2");
  const RawResponse unknown = exchange(get_text("/nothing"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_TRUE(nlohmann::json::parse(unknown.body).contains("error"));
  const RawResponse wrong = exchange(get_text("/echo"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("allow"), "POST, OPTIONS");
  EXPECT_EQ(exchange(get_text("/health", "", "DELETE")).header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(exchange(get_text("/health", "", "TRACE")).status, 405);
}

TEST_F(FieldCaseHttp, A04_PreflightNeedsNoKeyAndErrorsCarryCors) {
  config_.api_keys = {"key"};
  config_.allowed_origins = {"https://app.example"};
  start();
  const RawResponse preflight =
      exchange(get_text("/echo", "Origin: https://app.example\r\n", "OPTIONS"));
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "https://app.example");
  EXPECT_NE(preflight.header("access-control-allow-headers").find("x-api-key"), std::string::npos);
  for (const std::string& request : {get_text("/header", "Origin: https://app.example\r\n"),
                                     post_text("/echo", "x", "Origin: https://app.example\r\n")}) {
    const RawResponse refused = exchange(request);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.header("access-control-allow-origin"), "https://app.example");
  }
  EXPECT_EQ(exchange(get_text("/health", "Origin: https://other.example\r\n"))
                .headers.count("access-control-allow-origin"),
            0U);
  EXPECT_EQ(exchange("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").status, 204);
}

TEST_F(HttpServerTest, EchoesUsableRequestIdsInEveryAnswer) {
  start();
  EXPECT_EQ(exchange(get_text("/health", "X-Request-Id: my-id\r\n")).header("x-request-id"),
            "my-id");
  EXPECT_EQ(exchange(get_text("/nothing", "X-Request-Id: a b\r\n")).header("x-request-id").size(),
            32U);
  EXPECT_EQ(exchange("GET\r\n\r\n").header("x-request-id").size(), 32U);
}

TEST_F(HttpServerTest, SilentAndHalfRequestsEndByDeadline) {
  tuning_.head_timeout = milliseconds(50);
  tuning_.body_timeout = milliseconds(50);
  tuning_.keep_alive_timeout = milliseconds(50);
  start();
  RawClient silent = connect();
  EXPECT_TRUE(silent.wait_for_close());
  EXPECT_TRUE(silent.received().empty());
  RawClient half_head = connect();
  half_head.send("GET / HT");
  EXPECT_EQ(half_head.read_response()->status, 408);
  EXPECT_TRUE(half_head.wait_for_close());
  RawClient half_body = connect();
  half_body.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(half_body.read_response()->status, 408);
  RawClient half_chunk = connect();
  half_chunk.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nabc");
  EXPECT_EQ(half_chunk.read_response()->status, 408);
  RawClient idle = connect();
  idle.send(get_text("/health"));
  EXPECT_EQ(idle.read_response()->status, 200);
  EXPECT_TRUE(idle.wait_for_close());
  EXPECT_TRUE(idle.received().empty());
}

TEST_F(HttpServerTest, ALineBreakBehindARequestBeginsNoHead) {
  tuning_.head_timeout = milliseconds(100);
  start();
  RawClient client = connect();
  client.send(post_text("/echo", "one") + "\r\n");
  EXPECT_EQ(client.read_response()->body, "one");
  // Two head deadlines, one after the other, pass while the connection stays idle.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(connect().wait_for_close());
  }
  client.send(post_text("/echo", "two") + "\r\n\r\n" + post_text("/echo", "three"));
  for (const char* body : {"two", "three"}) {
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, body);
  }
}

TEST_F(HttpServerTest, AHeadThatTricklesEndsByTheTotalDeadline) {
  tuning_.head_timeout = milliseconds(100);
  start();
  RawClient client = connect();
  while (client.send("a")) {
    std::this_thread::yield();
  }
  // The server answered 408 or 414 and closed; it did not wait for us.
  EXPECT_TRUE(client.wait_for_close());
  EXPECT_TRUE(alive());
}

TEST_F(HttpServerTest, AnswersHealthWhenEveryWorkerIsBusy) {
  config_.max_streams = 2;
  start();
  std::vector<RawClient> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(connect());
    busy.back().send(post_text("/hold", "x"));
  }
  wait_for_held(2);
  EXPECT_TRUE(alive());
  RawClient refused = connect();
  refused.send(post_text("/hold", "x"));
  const auto response = refused.read_response();
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->header("retry-after"), "1");
  EXPECT_NE(response->body.find("server_overloaded"), std::string::npos);
  let_go();
  for (RawClient& client : busy) {
    EXPECT_EQ(client.read_response()->body, "held");
  }
  // A worker counts until it has given its connection back, a little after the answer.
  RawResponse again;
  do {
    again = exchange(post_text("/echo", "again"));
  } while (again.status == 503);
  EXPECT_EQ(again.body, "again");
}

TEST_F(HttpServerTest, StreamsLeaveConnectionsForHealth) {
  config_.max_connections = 4;
  start();
  std::vector<RawClient> busy;
  for (int i = 0; i < 2; ++i) {
    busy.push_back(connect());
    busy.back().send(post_text("/hold", "x"));
  }
  wait_for_held(2);
  EXPECT_EQ(exchange(post_text("/hold", "x")).status, 503);
  EXPECT_TRUE(alive());
}

// A client that asks on and on without reading gets its answers written with little patience.
TEST_F(HttpServerTest, ReserveThreadsWaitForNobody) {
  config_.max_streams = 1;
  tuning_.workers.reserve = 1;
  start();
  RawClient busy = connect();
  busy.send(post_text("/hold", "x"));
  wait_for_held(1);
  RawClient deaf = connect();
  std::string requests;
  for (int i = 0; i < 40'000; ++i) {
    requests += get_text("/health");
  }
  base::NamedThread sender("deaf", [&] { deaf.send(requests); });
  EXPECT_TRUE(alive());
  deaf.close();
}

TEST_F(HttpServerTest, SlowHeadsHoldNoWorker) {
  config_.max_streams = 1;
  tuning_.workers.reserve = 1;
  start();
  std::vector<RawClient> slow;
  for (int i = 0; i < 50; ++i) {
    slow.push_back(connect());
    slow.back().send("POST /echo HT");
  }
  EXPECT_EQ(exchange(post_text("/echo", "quick")).body, "quick");
}

TEST_F(HttpServerTest, MakesRoomByClosingAnIdleConnection) {
  config_.max_connections = 4;
  start();
  std::vector<RawClient> idle;
  for (int i = 0; i < 4; ++i) {
    idle.push_back(connect());
    idle.back().send(get_text("/health"));
    EXPECT_EQ(idle.back().read_response()->status, 200);
  }
  EXPECT_TRUE(alive());
  int kept = 0;
  for (RawClient& client : idle) {
    client.send(get_text("/health"));
    kept += client.read_response() ? 1 : 0;
  }
  EXPECT_EQ(kept, 3);
}

TEST_F(HttpServerTest, ServesManyClientsAtOnce) {
  start();
  std::vector<base::NamedThread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back("client", [&] {
      for (int i = 0; i < 25; ++i) {
        RawClient client = connect();
        client.send(post_text("/echo", "one") + post_text("/echo", "two"));
        const auto one = client.read_response();
        const auto two = client.read_response();
        good += one && two && one->body == "one" && two->body == "two" ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(good.load(), 200);
}

TEST_F(HttpServerTest, NoticesClientsThatLeaveWhileTheirRequestRuns) {
  start();
  for (const int way : {0, 1, 2}) {
    RawClient client = connect();
    client.send(post_text("/hold", "x"));
    wait_for_held(1);
    if (way == 0) client.close();
    if (way == 1) client.reset();
    if (way == 2) client.half_close();
    wait_for_held(0);
  }
}

TEST_F(HttpServerTest, NoticesAFinBehindPipelinedBytes) {
  start();
  RawClient client = connect();
  client.send(post_text("/hold", "x") + get_text("/health"));
  wait_for_held(1);
  client.close();
  wait_for_held(0);
  EXPECT_TRUE(alive());
}

TEST_F(HttpServerTest, DrainFinishesRunningRequestsAndClosesThePort) {
  start();
  RawClient running = connect();
  running.send(post_text("/hold", "x"));
  wait_for_held(1);
  RawClient idle = connect();
  idle.send(get_text("/health"));
  EXPECT_EQ(idle.read_response()->status, 200);
  server_->begin_drain();
  idle.send(get_text("/health"));
  EXPECT_EQ(idle.read_response()->header("connection"), "close");
  base::NamedThread drainer("drain", [this] {
    server_->shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  });
  let_go();
  EXPECT_EQ(running.read_response()->body, "held");
  drainer.join();
  EXPECT_FALSE(connect().connected());
}

TEST_F(HttpServerTest, DrainWaitsForBodiesUnderWay) {
  start();
  RawClient uploading = connect();
  uploading.send(
      "POST /hold HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(uploading.read_until("100 Continue\r\n\r\n"));
  base::NamedThread drainer("drain", [this] {
    EXPECT_TRUE(server_->shutdown(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  });
  uploading.send("x");
  wait_for_held(1);
  let_go();
  uploading.read_response();  // the 100
  EXPECT_EQ(uploading.read_response()->body, "held");
}

TEST_F(HttpServerTest, DrainAbandonsWhatIsStillRunningAtTheDeadline) {
  tuning_.abandon_timeout = milliseconds(100);
  start();
  RawClient running = connect();
  running.send(post_text("/hold", "x"));
  wait_for_held(1);
  RawClient uploading = connect();
  uploading.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  server_->shutdown(std::chrono::steady_clock::now());
  EXPECT_EQ(running.read_response()->body, "abandoned");
  server_.reset();
  EXPECT_TRUE(uploading.wait_for_close());
}

}  // namespace
}  // namespace deepinfer::server
