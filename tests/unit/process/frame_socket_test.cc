#include "process/frame_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <thread>

#include "base/unique_fd.h"

namespace deepinfer::process {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FrameSocket : public ::testing::Test {
 protected:
  FrameSocket() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    near_ = base::UniqueFd(ends[0]);
    far_ = base::UniqueFd(ends[1]);
  }
  void send_raw(const std::string& bytes) {
    ASSERT_EQ(::send(near_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }

  base::UniqueFd near_;
  base::UniqueFd far_;
  FrameReader reader_;
};

TEST_F(FrameSocket, CarriesFramesInOrder) {
  ASSERT_TRUE(send_frame(near_.get(), "one").is_ok());
  ASSERT_TRUE(send_frame(near_.get(), "").is_ok());
  ASSERT_TRUE(send_frame(near_.get(), std::string(3, '\0')).is_ok());
  EXPECT_TRUE(*reader_.receive(far_.get()));
  EXPECT_THAT(reader_.take(), ElementsAre("one", "", std::string(3, '\0')));
  EXPECT_THAT(reader_.take(), IsEmpty());
}

TEST_F(FrameSocket, JoinsWhatComesInPieces) {
  const std::string bytes("\x02\0\0\0ab\x01\0\0\0c", 11);
  std::vector<std::string> frames;
  for (const char byte : bytes) {
    send_raw(std::string(1, byte));
    EXPECT_TRUE(*reader_.receive(far_.get()));
    for (std::string& frame : reader_.take()) {
      frames.push_back(std::move(frame));
    }
  }
  EXPECT_THAT(frames, ElementsAre("ab", "c"));
}

TEST_F(FrameSocket, CarriesMoreThanTheSocketHolds) {
  const std::string large(5'000'000, 'x');
  std::thread writer([&] { EXPECT_TRUE(send_frame(near_.get(), large).is_ok()); });
  std::vector<std::string> frames;
  while (frames.empty()) {
    ASSERT_TRUE(*reader_.receive(far_.get()));
    frames = reader_.take();
  }
  writer.join();
  EXPECT_EQ(frames.front(), large);
}

TEST_F(FrameSocket, RefusesLengthsThatAreNotAllowed) {
  send_raw("\xFF\xFF\xFF\xFF");
  EXPECT_THAT(reader_.receive(far_.get()).status().message(), HasSubstr("4294967295 bytes"));
}

TEST_F(FrameSocket, TellsTheEnd) {
  ASSERT_TRUE(send_frame(near_.get(), "last").is_ok());
  near_ = base::UniqueFd();
  EXPECT_TRUE(*reader_.receive(far_.get()));
  EXPECT_FALSE(*reader_.receive(far_.get()));
  EXPECT_THAT(reader_.take(), ElementsAre("last"));
}

TEST_F(FrameSocket, SaysThatTheOtherEndIsGone) {
  far_ = base::UniqueFd();
  EXPECT_EQ(send_frame(near_.get(), "x").code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace deepinfer::process
