#include "deepinfer/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace deepinfer {
namespace {

TEST(Status, IsOkByDefault) {
  EXPECT_TRUE(Status().is_ok());
  EXPECT_TRUE(Status::ok().is_ok());
  EXPECT_EQ(Status().code(), StatusCode::kOk);
}

TEST(Status, CarriesFieldAndReason) {
  const Status status = invalid_argument("too long").with_param("prompt").with_reason("length");
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(status.message(), "too long");
  EXPECT_EQ(status.param(), "prompt");
  EXPECT_EQ(status.reason(), "length");
}

TEST(Status, KeepsEverythingWhenContextIsAdded) {
  const Status status = Status(not_found("b").with_param("p").with_reason("r")).with_context("a");
  EXPECT_EQ(status.message(), "a: b");
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.param(), "p");
  EXPECT_EQ(status.reason(), "r");
}

TEST(Status, NamesItsCodes) {
  EXPECT_EQ(to_string(StatusCode::kOk), "ok");
  EXPECT_EQ(to_string(invalid_argument("").code()), "invalid_argument");
  EXPECT_EQ(to_string(not_found("").code()), "not_found");
  EXPECT_EQ(to_string(failed_precondition("").code()), "failed_precondition");
  EXPECT_EQ(to_string(resource_exhausted("").code()), "resource_exhausted");
  EXPECT_EQ(to_string(unavailable("").code()), "unavailable");
  EXPECT_EQ(to_string(deadline_exceeded("").code()), "deadline_exceeded");
  EXPECT_EQ(to_string(cancelled("").code()), "cancelled");
  EXPECT_EQ(to_string(unimplemented("").code()), "unimplemented");
  EXPECT_EQ(to_string(internal_error("").code()), "internal");
}

Result<int> half(int number) {
  if (number % 2 != 0) {
    return invalid_argument("odd");
  }
  return number / 2;
}

Result<int> quarter(int number) {
  DI_ASSIGN(const int halved, half(number));
  DI_TRY(half(halved));
  return halved / 2;
}

TEST(Result, HoldsAValueOrTheReasonForNone) {
  EXPECT_TRUE(half(4).has_value());
  EXPECT_EQ(*half(4), 2);
  EXPECT_TRUE(half(4).status().is_ok());
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error().message(), "odd");
  EXPECT_EQ(half(3).status().message(), "odd");
}

TEST(Result, ReturnsFailuresEarly) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(3).error().message(), "odd");
  EXPECT_EQ(quarter(6).error().message(), "odd");
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

}  // namespace
}  // namespace deepinfer
