#include "base/output_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace deepinfer::base {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

TokenOutput tokens(std::vector<TokenId> ids, std::optional<FinishReason> finish = std::nullopt) {
  TokenOutput output;
  output.tokens = std::move(ids);
  output.finish = finish;
  output.usage.completion_tokens = output.tokens.empty() ? 0 : output.tokens.back();
  return output;
}

TEST(OutputQueue, TimesOutWhenNothingComes) {
  OutputQueue queue;
  EXPECT_TRUE(std::holds_alternative<StreamTimeout>(queue.wait_for(0ms)));
  EXPECT_TRUE(std::holds_alternative<StreamTimeout>(queue.wait_for(1ms)));
}

TEST(OutputQueue, JoinsWhatWasNotFetched) {
  OutputQueue queue;
  TokenOutput first = tokens({1});
  first.probe_logits = {0.5F};
  first.logprobs.push_back({.chosen = {1, -1.0F}, .top = {}});
  queue.push(std::move(first));
  TokenOutput second = tokens({2, 3});
  second.logprobs.push_back({.chosen = {2, -2.0F}, .top = {}});
  second.logprobs.push_back({.chosen = {3, -3.0F}, .top = {}});
  queue.push(std::move(second));
  queue.push(tokens({4}, FinishReason::kLength));

  const StreamEvent event = queue.wait_for(0ms);
  ASSERT_TRUE(std::holds_alternative<TokenOutput>(event));
  const TokenOutput& output = std::get<TokenOutput>(event);
  EXPECT_THAT(output.tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(output.logprobs.size(), 3U);
  EXPECT_THAT(output.probe_logits, ElementsAre(0.5F));
  EXPECT_EQ(output.finish, FinishReason::kLength);
  EXPECT_EQ(output.usage.completion_tokens, 4);
  EXPECT_TRUE(std::holds_alternative<StreamEnd>(queue.wait_for(0ms)));
  EXPECT_TRUE(std::holds_alternative<StreamEnd>(queue.wait_for(1h)));
}

TEST(OutputQueue, StartsAFreshOutputAfterAFetch) {
  OutputQueue queue;
  queue.push(tokens({1}));
  EXPECT_TRUE(std::holds_alternative<TokenOutput>(queue.wait_for(0ms)));
  queue.push(tokens({2}));
  EXPECT_THAT(std::get<TokenOutput>(queue.wait_for(0ms)).tokens, ElementsAre(2));
}

TEST(OutputQueue, WakesAWaitingClient) {
  OutputQueue queue;
  std::thread producer([&] { queue.push(tokens({7}, FinishReason::kStop)); });
  const StreamEvent event = queue.wait_for(1h);
  EXPECT_TRUE(std::holds_alternative<TokenOutput>(event));
  producer.join();
}

TEST(OutputQueue, TellsAReaderOfManyStreams) {
  OutputQueue queue;
  int woken = 0;
  queue.on_output([&] { ++woken; });
  EXPECT_EQ(woken, 0);
  queue.push(tokens({1}));
  queue.push(tokens({2}, FinishReason::kStop));
  EXPECT_EQ(woken, 2);
}

TEST(OutputQueue, TellsAtOnceWhatIsThereAlready) {
  OutputQueue queue;
  queue.push(tokens({1}));
  int woken = 0;
  queue.on_output([&] { ++woken; });
  EXPECT_EQ(woken, 1);
}

TEST(OutputQueue, WakesNobodyWhoHasLeft) {
  OutputQueue queue;
  int woken = 0;
  queue.on_output([&] { ++woken; });
  EXPECT_TRUE(queue.abandon());
  queue.push(tokens({1}));
  EXPECT_EQ(woken, 0);
}

TEST(QueuedOutputStream, CancelsWhenDestroyedBeforeTheEnd) {
  const auto queue = std::make_shared<OutputQueue>();
  int cancels = 0;
  {
    const QueuedOutputStream stream(queue, [&] { ++cancels; });
  }
  EXPECT_EQ(cancels, 1);
  EXPECT_TRUE(queue->abandoned());
}

TEST(QueuedOutputStream, DoesNotCancelWhatHasFinished) {
  const auto queue = std::make_shared<OutputQueue>();
  queue->push(tokens({1}, FinishReason::kStop));
  int cancels = 0;
  {
    const QueuedOutputStream stream(queue, [&] { ++cancels; });
  }
  EXPECT_EQ(cancels, 0);
  EXPECT_FALSE(queue->abandoned());
}

}  // namespace
}  // namespace deepinfer::base
