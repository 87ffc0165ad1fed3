#include "server/lifecycle.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/exit_code.h"
#include "base/log.h"
#include "raw_client.h"
#include "server/listener.h"

namespace deepinfer::server {
namespace {

using std::chrono::milliseconds;

// An engine whose step never returns: it cannot be shut down.
class HungLlm final : public Llm {
 public:
  explicit HungLlm(Status health) : health_(std::move(health)) {}

  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest /*request*/) override {
    return unavailable("hung");
  }
  LlmStats stats() const override { return {}; }
  /// While it is well, somebody asks the process to stop.
  Status health() const override {
    if (health_.is_ok() && !signalled_) {
      signalled_ = true;
      ::kill(::getpid(), SIGTERM);
    }
    return health_;
  }
  void shutdown(std::chrono::steady_clock::time_point /*deadline*/) override {
    for (;;) {
      ::pause();
    }
  }

 private:
  const ModelInfo model_;
  const Status health_;
  mutable bool signalled_ = false;
};

// Serves with a hung engine that says `health`.
int serve_hung(const Status& health) {
  block_signals();
  static_cast<void>(base::configure_logging("info", "text"));
  ServerOptions options;
  options.config.http.port = 0;
  options.config.http.served_model_names = {"hung"};
  options.config.http.shutdown_timeout = milliseconds(0);
  LifecycleTuning tuning;
  tuning.http.abandon_timeout = milliseconds(10);
  tuning.failure_grace = milliseconds(10);
  tuning.stuck_drain_grace = milliseconds(50);
  const Loader loader = [&health](Service&) -> Result<LoadedParts> {
    LoadedParts parts;
    parts.llm = std::make_unique<HungLlm>(health);
    return parts;
  };
  return serve_until_signal(options, loader, {}, tuning);
}

// An engine without work.
class IdleLlm final : public Llm {
 public:
  const ModelInfo& model() const override { return model_; }
  Result<std::unique_ptr<OutputStream>> submit(GenerateRequest /*request*/) override {
    return unavailable("idle");
  }
  LlmStats stats() const override { return {}; }
  Status health() const override { return Status::ok(); }
  void shutdown(std::chrono::steady_clock::time_point /*deadline*/) override {}

 private:
  const ModelInfo model_;
};

// Serves, and is asked to stop by a request that never ends.
int serve_stuck_handler() {
  block_signals();
  static_cast<void>(base::configure_logging("info", "text"));
  const int port = open_listener("127.0.0.1", 0)->port;
  ServerOptions options;
  options.config.http.port = port;
  options.config.http.served_model_names = {"idle"};
  options.config.http.shutdown_timeout = milliseconds(0);
  LifecycleTuning tuning;
  tuning.http.abandon_timeout = milliseconds(20);
  const Route stuck{.method = "GET",
                    .path = "/stuck",
                    .handler =
                        [](Exchange&, httplib::Response&) {
                          ::kill(::getpid(), SIGTERM);
                          for (;;) {
                            ::pause();
                          }
                        },
                    .access = Access::kOpen,
                    .long_running = true};
  std::unique_ptr<testing::RawClient> client;
  const Loader loader = [&client, port](Service&) -> Result<LoadedParts> {
    client = std::make_unique<testing::RawClient>(port);
    client->send("GET /stuck HTTP/1.1\r\nHost: h\r\n\r\n");
    return LoadedParts{.recipe = nullptr, .llm = std::make_unique<IdleLlm>()};
  };
  return serve_until_signal(options, loader, {stuck}, tuning);
}

TEST(Lifecycle, ConnectionsLeaveDescriptorsForTheRest) {
  EXPECT_EQ(connections_within(1'048'576, 16384), 16384);
  EXPECT_EQ(connections_within(1024, 16384), 896);
  EXPECT_EQ(connections_within(64, 16384), 1);
  EXPECT_EQ(connections_within(UINT64_MAX, 16384), 16384);
}

class LifecycleDeathTest : public ::testing::Test {
 protected:
  LifecycleDeathTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(LifecycleDeathTest, AHungEngineEndsTheProcess) {
  EXPECT_EXIT(std::_Exit(serve_hung(unavailable("a step has been running for 121 s"))),
              ::testing::ExitedWithCode(base::kExitHung), "E a step has been running for 121 s;");
}

TEST_F(LifecycleDeathTest, ASignalEndsTheProcessWhenTheEngineCannotStop) {
  EXPECT_EXIT(std::_Exit(serve_hung(Status::ok())), ::testing::ExitedWithCode(base::kExitFailure),
              "E the engine is still in a step;");
}

TEST_F(LifecycleDeathTest, ALoadThatThrowsIsAFailedLoad) {
  const auto serve_throwing = [] {
    block_signals();
    static_cast<void>(base::configure_logging("info", "text"));
    ServerOptions options;
    options.config.http.port = 0;
    options.config.http.served_model_names = {"none"};
    return serve_until_signal(
        options, [](Service&) -> Result<LoadedParts> { throw std::runtime_error("not a file"); });
  };
  EXPECT_EXIT(std::_Exit(serve_throwing()), ::testing::ExitedWithCode(base::kExitModel),
              "cannot load the model: reading the model threw: not a file");
}

TEST_F(LifecycleDeathTest, ASignalEndsTheProcessWhenARequestCannotStop) {
  EXPECT_EXIT(std::_Exit(serve_stuck_handler()), ::testing::ExitedWithCode(base::kExitFailure),
              "E a request does not stop");
}

}  // namespace
}  // namespace deepinfer::server
