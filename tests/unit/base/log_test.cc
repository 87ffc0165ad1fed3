#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer::base {
namespace {

std::string logged(const std::string& format, const std::string& message) {
  EXPECT_TRUE(configure_logging("info", format).is_ok());
  testing::internal::CaptureStderr();
  DI_LOG_INFO("{}", message);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneLineWhateverTheMessageHolds) {
  const std::string forged = "GET /x\n2026-01-01 00:00:00.000 info all is well\r\x1b[2J\x7f é";
  const std::string text = logged("text", forged);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_NE(text.find(R"(GET /x\x0a2026-01-01 00:00:00.000 info all is well\x0d\x1b[2J\x7f é)"),
            std::string::npos)
      << text;
  const std::string json = logged("json", "a\"b\\c\nd");
  EXPECT_EQ(json.find('\n'), json.size() - 1);
  EXPECT_NE(json.find(R"("message":"a\"b\\c\u000ad")"), std::string::npos) << json;
}

TEST(Log, RefusesUnknownLevelsAndFormats) {
  EXPECT_FALSE(configure_logging("loud", "text").is_ok());
  EXPECT_FALSE(configure_logging("info", "xml").is_ok());
}

}  // namespace
}  // namespace deepinfer::base
