#include "base/exit_code.h"

#include <gtest/gtest.h>

namespace deepinfer::base {
namespace {

TEST(ExitCode, TellsWhetherFlagsModelOrMachineAreAtFault) {
  EXPECT_EQ(exit_code_of(Status::ok()), 0);
  EXPECT_EQ(exit_code_of(internal_error("x")), 1);
  EXPECT_EQ(exit_code_of(unavailable("x")), 4);
  EXPECT_EQ(exit_code_of(invalid_argument("x")), 2);
  EXPECT_EQ(exit_code_of(not_found("x")), 3);
  EXPECT_EQ(exit_code_of(failed_precondition("x")), 3);
  EXPECT_EQ(exit_code_of(resource_exhausted("x")), 4);
}

}  // namespace
}  // namespace deepinfer::base
