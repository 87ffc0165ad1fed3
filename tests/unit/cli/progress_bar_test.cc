#include "cli/progress_bar.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>

namespace deepinfer::cli {
namespace {

using testing::HasSubstr;

class ManualClock final : public base::Clock {
 public:
  base::TimePoint now() const override { return now_; }
  void advance(std::chrono::milliseconds step) { now_ += step; }

 private:
  base::TimePoint now_{};
};

class ProgressBarTest : public testing::Test {
 protected:
  std::string drawn() {
    std::rewind(file_.get());
    std::string text(10000, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    return text;
  }
  size_t times_drawn() {
    const std::string text = drawn();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\r'));
  }

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  ManualClock clock_;
};

TEST(ProgressText, ShowsCountsAndRate) {
  EXPECT_EQ(
      progress_text({.requests_total = 24, .requests_done = 12, .tokens_generated = 100}, 2.0),
      "[###############               ] 12/24 requests, 100 tokens, 50.0 tokens/s");
}

TEST(ProgressText, SurvivesNothingToDoAndNoTime) {
  EXPECT_THAT(progress_text({}, 0.0), HasSubstr("0/0 requests, 0 tokens, 0.0 tokens/s"));
}

TEST_F(ProgressBarTest, RedrawsAtMostTenTimesASecond) {
  ProgressBar bar(file_.get(), clock_);
  for (int i = 0; i < 100; ++i) {
    bar.update({.requests_total = 100, .requests_done = i});
    clock_.advance(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(times_drawn(), 10U);
}

TEST_F(ProgressBarTest, FinishDrawsTheLastStateAndEndsTheLine) {
  ProgressBar bar(file_.get(), clock_);
  bar.update({.requests_total = 2, .requests_done = 1});
  bar.update({.requests_total = 2, .requests_done = 2});
  bar.finish();
  EXPECT_THAT(drawn(), HasSubstr("2/2 requests"));
  EXPECT_EQ(drawn().back(), '\n');
}

TEST(ProgressBar, DrawsNothingWithoutATerminal) {
  const ManualClock clock;
  ProgressBar bar(nullptr, clock);
  bar.update({.requests_total = 1});
  bar.finish();
}

}  // namespace
}  // namespace deepinfer::cli
