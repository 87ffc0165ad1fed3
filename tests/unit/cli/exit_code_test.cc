#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace deepinfer::cli {
namespace {

TEST(ExitCode, TellsWhetherFlagsModelOrMachineAreAtFault) {
  EXPECT_EQ(exit_code(Status::ok()), 0);
  EXPECT_EQ(exit_code(internal_error("x")), 1);
  EXPECT_EQ(exit_code(unavailable("x")), 1);
  EXPECT_EQ(exit_code(invalid_argument("x")), 2);
  EXPECT_EQ(exit_code(not_found("x")), 3);
  EXPECT_EQ(exit_code(failed_precondition("x")), 3);
  EXPECT_EQ(exit_code(resource_exhausted("x")), 4);
}

}  // namespace
}  // namespace deepinfer::cli
