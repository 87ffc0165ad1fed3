#include "process/output_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/output_queue.h"

namespace deepinfer::process {
namespace {

using ::testing::ElementsAre;

TokenOutput output_of(std::vector<TokenId> tokens,
                      std::optional<FinishReason> finish = std::nullopt) {
  return {.tokens = std::move(tokens), .finish = finish};
}

// Joins what was sent, by request.
struct Sent {
  void take(const OutputsMessage& message) {
    for (const auto& [number, output] : message.outputs) {
      auto& all = tokens[number];
      all.insert(all.end(), output.tokens.begin(), output.tokens.end());
    }
    ++num_messages;
  }
  std::map<RequestNumber, std::vector<TokenId>> tokens;
  int num_messages = 0;
};

std::unique_ptr<OutputStream> stream_of(const std::shared_ptr<base::OutputQueue>& queue,
                                        int& cancels) {
  return std::make_unique<base::QueuedOutputStream>(queue, [&cancels] { ++cancels; });
}

TEST(OutputPump, SendsEverythingOfEveryStream) {
  Sent sent;
  int cancels = 0;
  OutputPump pump([&](const OutputsMessage& message) { sent.take(message); });
  std::vector<std::shared_ptr<base::OutputQueue>> queues;
  for (RequestNumber number = 0; number < 50; ++number) {
    queues.push_back(std::make_shared<base::OutputQueue>());
    pump.add(number, stream_of(queues.back(), cancels));
  }
  for (TokenId token = 0; token < 20; ++token) {
    for (const auto& queue : queues) {
      queue->push(output_of({token}));
    }
  }
  for (const auto& queue : queues) {
    queue->push(output_of({20}, FinishReason::kStop));
  }
  pump.wait_until_empty();
  ASSERT_EQ(sent.tokens.size(), 50U);
  for (const auto& [number, tokens] : sent.tokens) {
    ASSERT_EQ(tokens.size(), 21U) << number;
    EXPECT_EQ(tokens[7], 7);
  }
  EXPECT_EQ(cancels, 0);
}

TEST(OutputPump, SendsWhatWasThereBefore) {
  Sent sent;
  int cancels = 0;
  OutputPump pump([&](const OutputsMessage& message) { sent.take(message); });
  const auto queue = std::make_shared<base::OutputQueue>();
  queue->push(output_of({1, 2}, FinishReason::kLength));
  pump.add(3, stream_of(queue, cancels));
  pump.wait_until_empty();
  EXPECT_THAT(sent.tokens[3], ElementsAre(1, 2));
}

TEST(OutputPump, CancelsAStream) {
  int cancels = 0;
  OutputPump pump([](const OutputsMessage&) {});
  const auto queue = std::make_shared<base::OutputQueue>();
  pump.add(3, stream_of(queue, cancels));
  pump.cancel(3);
  pump.cancel(4);
  pump.wait_until_empty();
  EXPECT_EQ(cancels, 1);
  EXPECT_TRUE(queue->abandoned());
}

TEST(OutputPump, CancelsWhatIsLeftAtItsEnd) {
  int cancels = 0;
  const auto queue = std::make_shared<base::OutputQueue>();
  {
    OutputPump pump([](const OutputsMessage&) {});
    pump.add(3, stream_of(queue, cancels));
  }
  EXPECT_EQ(cancels, 1);
  queue->push(output_of({1}));
}

}  // namespace
}  // namespace deepinfer::process
