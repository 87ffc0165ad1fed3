#include "server/access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace deepinfer::server {
namespace {

RequestHead with_header(const std::string& name, const std::string& value) {
  RequestHead head;
  head.headers.push_back({name, value});
  return head;
}

const std::vector<std::string> kKeys = {"first-key", "second"};

TEST(Access, TakesAnyOfTheKeysInEitherHeader) {
  EXPECT_TRUE(check_api_key(with_header("authorization", "Bearer first-key"), kKeys).is_ok());
  EXPECT_TRUE(check_api_key(with_header("Authorization", "bearer second"), kKeys).is_ok());
  EXPECT_TRUE(check_api_key(with_header("X-Api-Key", "second"), kKeys).is_ok());
}

TEST(Access, RefusesWrongMissingAndPartialKeys) {
  for (const char* value : {"Bearer", "Bearer ", "Bearer first-ke", "Bearer first-keyx",
                            "first-key", "Basic first-key", "Bearer FIRST-KEY"}) {
    const Status status = check_api_key(with_header("Authorization", value), kKeys);
    EXPECT_EQ(status.code(), StatusCode::kUnauthenticated) << value;
    EXPECT_EQ(status.reason(), "invalid_api_key");
  }
  EXPECT_FALSE(check_api_key(RequestHead{}, kKeys).is_ok());
}

TEST(Access, WithoutKeysEverybodyMayCall) {
  EXPECT_TRUE(check_api_key(RequestHead{}, {}).is_ok());
  EXPECT_TRUE(check_api_key(with_header("Authorization", "Bearer whatever"), {}).is_ok());
}

TEST(Access, KeepsUsableRequestIdsAndReplacesOthers) {
  EXPECT_EQ(request_id_for("Abc-1.2_3:4"), "Abc-1.2_3:4");
  const std::string unusable[] = {"", "a b", "a\"b", std::string(129, 'a'), "ä"};
  for (const std::string& id : unusable) {
    const std::string made = request_id_for(id);
    EXPECT_NE(made, id);
    EXPECT_EQ(made.size(), 32U);
  }
  EXPECT_NE(request_id_for(""), request_id_for(""));
}

TEST(Access, CorsIsOffUnlessAnOriginIsAllowed) {
  EXPECT_TRUE(cors_headers("https://a", {}).empty());
  EXPECT_TRUE(cors_headers("https://a", {"https://b"}).empty());
  EXPECT_TRUE(cors_headers("", {"*"}).empty());
  EXPECT_EQ(cors_headers("https://a", {"https://a"}).front().value, "https://a");
  EXPECT_EQ(cors_headers("https://a", {"*"}).front().value, "*");
}

}  // namespace
}  // namespace deepinfer::server
