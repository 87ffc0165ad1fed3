#include "base/check.h"

#include <gtest/gtest.h>

namespace deepinfer::base {
namespace {

TEST(CheckDeathTest, AbortsWithConditionAndPlace) {
  EXPECT_DEATH(DI_CHECK(1 + 1 == 3), "1 \\+ 1 == 3.*check_test.cc|check_test.cc.*1 \\+ 1 == 3");
}

TEST(Check, LetsTrueConditionsPass) {
  DI_CHECK(1 + 1 == 2);
}

}  // namespace
}  // namespace deepinfer::base
