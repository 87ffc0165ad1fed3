#include "http_fixture.h"

#include <spdlog/spdlog.h>

#include <stdexcept>
#include <utility>

#include "server/listener.h"

namespace deepinfer::server::testing {

HttpFixture::HttpFixture() {
  spdlog::set_level(spdlog::level::off);
  config_.port = 0;
}

RouteTable HttpFixture::routes() {
  RouteTable table(config_.api_keys);
  table.add(
      {.method = "GET",
       .path = "/health",
       .handler = [](Exchange&, httplib::Response& res) { res.set_content("ok", "text/plain"); },
       .access = Access::kOpen,
       .when_busy = true});
  table.add({.method = "POST",
             .path = "/echo",
             .handler = [](Exchange& exchange, httplib::Response& res) {
               res.set_content(exchange.body, "application/octet-stream");
             }});
  table.add({.method = "GET",
             .path = "/header",
             .handler = [](Exchange& exchange, httplib::Response& res) {
               res.set_content(std::string(exchange.head.header("X-Echo")), "text/plain");
             }});
  table.add({.method = "GET", .path = "/throw", .handler = [](Exchange&, httplib::Response&) {
               throw std::runtime_error("a secret of ours");
             }});
  table.add({.method = "POST",
             .path = "/hold",
             .handler =
                 [this](Exchange& exchange, httplib::Response& res) {
                   std::unique_lock lock(mutex_);
                   ++held_;
                   changed_.notify_all();
                   while (!open_ && !exchange.abandon && !exchange.connection.gone()) {
                     changed_.wait_for(lock, std::chrono::milliseconds(5));
                   }
                   --held_;
                   changed_.notify_all();
                   res.set_content(exchange.abandon ? "abandoned" : "held", "text/plain");
                 },
             .long_running = true});
  return table;
}

void HttpFixture::start() {
  auto listener = open_listener("127.0.0.1", 0);
  ASSERT_TRUE(listener.has_value());
  server_ = std::make_unique<HttpServer>(config_, tuning_, routes(), *std::move(listener));
  server_->start();
}

RawResponse HttpFixture::exchange(const std::string& request) {
  RawClient client = connect();
  client.send(request);
  return client.read_response(request.compare(0, 4, "HEAD") == 0).value_or(RawResponse{});
}

::testing::AssertionResult HttpFixture::alive() {
  const RawResponse response = exchange(get_text("/health"));
  return response.status == 200
             ? ::testing::AssertionSuccess()
             : ::testing::AssertionFailure() << "health says " << response.status;
}

void HttpFixture::wait_for_held(int count) {
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(
      changed_.wait_for(lock, std::chrono::seconds(20), [this, count] { return held_ == count; }));
}

void HttpFixture::let_go() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

}  // namespace deepinfer::server::testing
