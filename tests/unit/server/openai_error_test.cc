#include "server/openai_error.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace deepinfer::server {
namespace {

using Json = nlohmann::json;

TEST(OpenAiError, MapsEveryCode) {
  EXPECT_EQ(http_error(invalid_argument("x")).http_status, 400);
  EXPECT_EQ(http_error(Status(StatusCode::kUnauthenticated, "x")).http_status, 401);
  EXPECT_EQ(http_error(not_found("x")).http_status, 404);
  EXPECT_EQ(http_error(failed_precondition("x")).http_status, 500);
  EXPECT_EQ(http_error(resource_exhausted("x")).http_status, 429);
  EXPECT_EQ(http_error(unavailable("x")).http_status, 503);
  EXPECT_EQ(http_error(deadline_exceeded("x")).http_status, 504);
  EXPECT_EQ(http_error(cancelled("x")).http_status, 499);
  EXPECT_EQ(http_error(unimplemented("x")).http_status, 400);
  EXPECT_EQ(http_error(internal_error("x")).http_status, 500);
}

TEST(OpenAiError, BodyHasTheFourMembers) {
  const Json body = Json::parse(
      http_error(invalid_argument("bad \"x\"").with_param("n").with_reason("why")).body);
  EXPECT_EQ(body["error"]["message"], "bad \"x\"");
  EXPECT_EQ(body["error"]["type"], "invalid_request_error");
  EXPECT_EQ(body["error"]["param"], "n");
  EXPECT_EQ(body["error"]["code"], "why");
  const Json bare = Json::parse(http_error(internal_error("x")).body);
  EXPECT_TRUE(bare["error"]["param"].is_null());
  EXPECT_TRUE(bare["error"]["code"].is_null());
}

TEST(OpenAiError, SurvivesBytesThatAreNotText) {
  EXPECT_TRUE(Json::accept(http_error(invalid_argument("\xff\xfe")).body));
}

TEST(FieldCase, O03_OverloadIsToldFromAFault) {
  const HttpError full = http_error(resource_exhausted("full").with_reason("server_overloaded"));
  EXPECT_EQ(full.http_status, 503);
  EXPECT_EQ(Json::parse(full.body)["error"]["code"], "server_overloaded");
  ASSERT_FALSE(full.headers.empty());
  EXPECT_EQ(full.headers.front().name, "Retry-After");
}

TEST(OpenAiError, DrainingHasATypeOfItsOwn) {
  const HttpError error = http_error(unavailable("x").with_reason("server_draining"));
  EXPECT_EQ(Json::parse(error.body)["error"]["type"], "server_draining");
}

TEST(OpenAiError, RefusalsKeepTheirStatus) {
  Refusal refusal = refuse(405, "no");
  refusal.allow = "GET";
  const HttpError error = http_error(refusal);
  EXPECT_EQ(error.http_status, 405);
  EXPECT_EQ(error.headers.front().value, "GET");
  EXPECT_EQ(reason_phrase(413), "Payload Too Large");
}

}  // namespace
}  // namespace deepinfer::server
