#include "server/listener.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "raw_client.h"

namespace deepinfer::server {
namespace {

using testing::RawClient;

bool has_ipv6() {
  return open_listener("::1", 0).has_value();
}

TEST(FieldCase, H07_ListensOnEveryKindOfAddress) {
  for (const char* host : {"127.0.0.1", "0.0.0.0", "localhost"}) {
    const auto listener = open_listener(host, 0);
    ASSERT_TRUE(listener.has_value()) << host;
    EXPECT_GT(listener->port, 0);
    EXPECT_TRUE(RawClient(listener->port, "127.0.0.1").connected()) << host;
  }
  if (!has_ipv6()) {
    GTEST_SKIP() << "this machine has no IPv6 loopback";
  }
  const auto local = open_listener("localhost", 0);
  ASSERT_TRUE(local.has_value());
  EXPECT_TRUE(RawClient(local->port, "localhost").connected());
  const auto six = open_listener("::1", 0);
  EXPECT_EQ(six->address, "[::1]:" + std::to_string(six->port));
  EXPECT_TRUE(RawClient(six->port, "::1").connected());
  const auto both = open_listener("::", 0);
  ASSERT_TRUE(both.has_value());
  EXPECT_TRUE(RawClient(both->port, "::1").connected());
  EXPECT_TRUE(RawClient(both->port, "127.0.0.1").connected());
}

TEST(FieldCase, H08_ATakenPortIsAnErrorThatNamesIt) {
  const auto first = open_listener("127.0.0.1", 0);
  ASSERT_TRUE(first.has_value());
  const auto second = open_listener("127.0.0.1", first->port);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code(), StatusCode::kUnavailable);
  EXPECT_NE(second.error().message().find("127.0.0.1:" + std::to_string(first->port)),
            std::string::npos);
  EXPECT_NE(second.error().message().find("address already in use"), std::string::npos);
}

TEST(Listener, NamesAHostWithoutAddress) {
  const auto listener = open_listener("no.such.host.invalid", 0);
  ASSERT_FALSE(listener.has_value());
  EXPECT_EQ(listener.error().code(), StatusCode::kInvalidArgument);
}

TEST(Listener, LeavesTheSocketOfALiveServerAlone) {
  const auto path =
      std::filesystem::temp_directory_path() / ("di-live-" + std::to_string(::getpid()));
  const auto live = open_listener("unix:" + path.string(), 0);
  ASSERT_TRUE(live.has_value()) << live.error().message();
  const auto second = open_listener("unix:" + path.string(), 0);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find("address already in use"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

TEST(Listener, ReplacesAnOldUnixSocket) {
  const auto path =
      std::filesystem::temp_directory_path() / ("di-listener-" + std::to_string(::getpid()));
  for (int i = 0; i < 2; ++i) {
    const auto listener = open_listener("unix:" + path.string(), 0);
    ASSERT_TRUE(listener.has_value());
    EXPECT_TRUE(std::filesystem::is_socket(path));
  }
  const auto live = open_listener("unix:" + path.string(), 0);
  ASSERT_TRUE(live.has_value());
  EXPECT_FALSE(open_listener("unix:" + path.string(), 0).has_value());
  std::filesystem::remove(path);
  EXPECT_FALSE(open_listener("unix:" + std::string(200, 'x'), 0).has_value());
}

}  // namespace
}  // namespace deepinfer::server
