#pragma once

/// The real HTTP server on a free port, with a few routes that show what it does.

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "raw_client.h"
#include "server/http_server.h"

namespace deepinfer::server::testing {

/// Routes: `GET /health` (open, served when busy), `POST /echo` (the body), `GET /header` (the
/// value of X-Echo), `GET /throw`, `POST /hold` (long-running; answers after `let_go`).
class HttpFixture : public ::testing::Test {
 protected:
  HttpFixture();
  /// Ends the server first: its workers use what follows it here.
  ~HttpFixture() override {
    let_go();
    server_.reset();
  }

  /// Starts the server; call once per test.
  void start();
  RawClient connect() { return RawClient(server_->port()); }
  /// Sends `request` on a new connection and reads the answer.
  RawResponse exchange(const std::string& request);
  /// The server answers a new client.
  ::testing::AssertionResult alive();
  void wait_for_held(int count);
  void let_go();

  HttpConfig config_;
  HttpTuning tuning_;
  std::unique_ptr<HttpServer> server_;

 private:
  RouteTable routes();

  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  bool open_ = false;
};

}  // namespace deepinfer::server::testing
