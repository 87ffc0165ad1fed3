#include "process/engine_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>

#include "base/unique_fd.h"

namespace deepinfer::process {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(EngineProcess, SaysHowItEnded) {
  auto exits = EngineProcess::spawn({"/bin/sh", "-c", "exit 7"});
  ASSERT_TRUE(exits.has_value());
  EXPECT_EQ(exits->reap(1min), "ended with status 7");
  auto crashes = EngineProcess::spawn({"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_THAT(crashes->reap(1min), HasSubstr("ended by signal 11"));
}

TEST(EngineProcess, KillsWhatDoesNotEnd) {
  auto stays = EngineProcess::spawn({"/bin/sh", "-c", "read nothing <&3"});
  EXPECT_EQ(stays->reap(0ms), "was killed");
}

TEST(EngineProcess, LeavesNothingBehindWhenDropped) {
  pid_t pid = -1;
  {
    auto stays = EngineProcess::spawn({"/bin/sh", "-c", "read nothing <&3"});
    pid = stays->pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(EngineProcess, HasASocketToIt) {
  auto echo = EngineProcess::spawn({"/bin/sh", "-c", "echo hello >&3"});
  std::array<char, 16> bytes{};
  EXPECT_EQ(::recv(echo->fd(), bytes.data(), bytes.size(), 0), 6);
  EXPECT_STREQ(bytes.data(), "hello\n");
}

TEST(EngineProcess, InheritsNoOtherDescriptor) {
  const base::UniqueFd inheritable(::dup2(1, 77));
  auto lists = EngineProcess::spawn(
      {"/bin/sh", "-c", "for f in /proc/$$/fd/*; do echo ${f##*/}; done >&3; exec 3>&-"});
  std::string all;
  std::array<char, 256> bytes{};
  for (ssize_t count = 0; (count = ::recv(lists->fd(), bytes.data(), bytes.size(), 0)) > 0;) {
    all.append(bytes.data(), static_cast<size_t>(count));
  }
  EXPECT_THAT(all, HasSubstr("3\n"));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("77\n")));
}

TEST(EngineProcess, SaysWhatCannotBeStarted) {
  EXPECT_THAT(EngineProcess::spawn({"/nonexistent/program"}).status().message(),
              HasSubstr("/nonexistent/program: No such file"));
}

}  // namespace
}  // namespace deepinfer::process
