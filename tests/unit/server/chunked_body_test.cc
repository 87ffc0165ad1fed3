#include "server/chunked_body.h"

#include <gtest/gtest.h>

#include <string>

namespace deepinfer::server {
namespace {

struct Decoded {
  std::string body;
  std::string rest;
  int http_status = 0;
  bool done = false;
};

Decoded decode(const std::string& input, size_t piece, uint64_t limit = 1000) {
  ChunkedDecoder decoder(limit);
  Decoded result;
  size_t position = 0;
  while (position < input.size() && !decoder.done() && !decoder.refusal()) {
    position += decoder.feed(std::string_view(input).substr(position, piece), result.body);
  }
  result.rest = input.substr(position);
  result.done = decoder.done();
  result.http_status = decoder.refusal() ? decoder.refusal()->http_status : 0;
  return result;
}

TEST(ChunkedDecoder, JoinsChunksHoweverTheyArrive) {
  const std::string input =
      "5\r\nhello\r\n1;ext=\"x\"\r\n \r\n0000000A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET /";
  for (size_t piece = 1; piece <= input.size(); ++piece) {
    const Decoded result = decode(input, piece);
    EXPECT_TRUE(result.done) << piece;
    EXPECT_EQ(result.body, "hello 0123456789");
    EXPECT_EQ(result.rest, "GET /");
  }
}

TEST(ChunkedDecoder, RefusesEverythingThatIsNotASize) {
  for (const char* input : {"0x5\r\n", " 5\r\n", "+5\r\n", "-5\r\n", "\r\n", "g\r\n", "5 \r\n",
                            "123456789\r\n", "5\n", "5\rx", ";a\r\n"}) {
    for (const size_t piece : {size_t{1}, size_t{100}}) {
      EXPECT_EQ(decode(input, piece).http_status, 400) << input;
    }
  }
}

TEST(ChunkedDecoder, RefusesAChunkLongerThanItsSize) {
  EXPECT_EQ(decode("3\r\nabcd\r\n0\r\n\r\n", 100).http_status, 400);
  EXPECT_EQ(decode("3\r\nabc\n0\r\n\r\n", 100).http_status, 400);
}

TEST(ChunkedDecoder, RefusesBodiesOverTheLimitBeforeReadingThem) {
  EXPECT_EQ(decode("3e9\r\n", 100).http_status, 413);
  EXPECT_EQ(decode("FFFFFFFF\r\n", 100).http_status, 413);
  EXPECT_EQ(decode("2\r\nab\r\n2\r\n", 100, 3).http_status, 413);
}

TEST(ChunkedDecoder, BoundsSizeLinesAndTrailers) {
  EXPECT_EQ(decode("5;" + std::string(300, 'x'), 7).http_status, 400);
  EXPECT_EQ(decode("0\r\nA: " + std::string(5000, 'x'), 100).http_status, 400);
  std::string many = "0\r\n";
  for (int i = 0; i < 1000; ++i) {
    many += "Name: value\r\n";
  }
  EXPECT_EQ(decode(many, 100).http_status, 400);
}

}  // namespace
}  // namespace deepinfer::server
