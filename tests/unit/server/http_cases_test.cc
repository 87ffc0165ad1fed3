// Group H of the field cases on the routes of the real server.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "endpoints.h"

namespace deepinfer::server {
namespace {

using testing::Endpoint;
using testing::endpoints;
using testing::get_text;
using testing::Json;
using testing::post_text;
using testing::RawResponse;
using testing::read_plain;

class FieldCaseRoutes : public testing::ChatFixture {};

TEST_F(FieldCaseRoutes, H04_AChatOfEightMebibytesIsTakenByDefault) {
  start();
  const Json padding = {{"metadata", {{"notes", std::string(8 << 20, 'x')}}}};
  EXPECT_EQ(exchange(endpoints()[0].post("PLAIN", padding)).status, 200);
  // More text than the context holds is refused for its tokens, not for its bytes.
  const RawResponse refused = exchange(endpoints()[0].post(std::string(8 << 20, 'x')));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(Json::parse(refused.body)["error"]["code"], "context_length_exceeded");
}

TEST_F(FieldCaseRoutes, H06_QueriesAndSlashesDoNotChangeTheRoute) {
  start();
  for (const Endpoint& endpoint : endpoints()) {
    const std::string body = endpoint.body("PLAIN").dump();
    for (const std::string tail : {"?beta=true", "?a=/v1/models&b", "/", "/?x=%2F"}) {
      const RawResponse response = exchange(post_text(endpoint.path + tail, body));
      ASSERT_EQ(response.status, 200) << endpoint.path << tail << response.body;
      EXPECT_EQ(read_plain(response.body).text, "It is forty-two.") << endpoint.path << tail;
    }
    const RawResponse wrong = exchange(get_text(endpoint.path + "?beta=true"));
    EXPECT_EQ(wrong.status, 405) << endpoint.path;
    EXPECT_EQ(wrong.header("allow"), "POST, OPTIONS") << endpoint.path;
    EXPECT_TRUE(Json::parse(wrong.body).contains("error")) << endpoint.path;
  }
  for (const char* path : {"/", "/health", "/livez", "/readyz", "/version", "/metrics",
                           "/v1/models", "/v1/models/scripted"}) {
    for (const std::string tail : {"?limit=5", "/?limit=5"}) {
      const std::string target = std::string(path) == "/" ? "/?limit=5" : path + tail;
      const RawResponse get = exchange(get_text(target));
      const RawResponse head = exchange(get_text(target, "", "HEAD"));
      EXPECT_EQ(get.status, 200) << target;
      EXPECT_EQ(head.status, 200) << target;
      EXPECT_EQ(head.header("content-type"), get.header("content-type")) << target;
      EXPECT_EQ(head.body, "");
    }
    EXPECT_EQ(exchange(post_text(path, "{}")).status, 405) << path;
  }
  const RawResponse unknown = exchange(post_text("/v1/nothing?beta=true", "{}"));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_TRUE(Json::parse(unknown.body)["error"].contains("message"));
}

}  // namespace
}  // namespace deepinfer::server
