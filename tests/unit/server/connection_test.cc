#include "server/connection.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer::server {
namespace {

TEST(Connection, TrimsOnlyAnEmptyInput) {
  Connection connection(1, base::UniqueFd(), {});
  connection.input().assign(100'000, 'x');
  connection.trim_input();
  EXPECT_EQ(connection.input().size(), 100'000U);
  connection.input().clear();
  connection.trim_input();
  EXPECT_LE(connection.input().capacity(), 1024U);
}

}  // namespace
}  // namespace deepinfer::server
