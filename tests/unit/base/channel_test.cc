#include "base/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace deepinfer::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST(Channel, GivesItemsInOrder) {
  Channel<int> channel(10);
  EXPECT_TRUE(channel.try_push(1));
  EXPECT_TRUE(channel.try_push(2));
  EXPECT_THAT(channel.drain(), ElementsAre(1, 2));
  EXPECT_THAT(channel.drain(), IsEmpty());
}

TEST(Channel, RefusesWhenFullAndLeavesTheItemAlone) {
  Channel<std::unique_ptr<int>> channel(1);
  EXPECT_TRUE(channel.try_push(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(channel.try_push(std::move(second)));
  ASSERT_NE(second, nullptr);
  channel.drain();
  EXPECT_TRUE(channel.try_push(std::move(second)));
}

TEST(Channel, GivesWhatWasQueuedBeforeItClosed) {
  Channel<int> channel(10);
  EXPECT_TRUE(channel.try_push(1));
  channel.close();
  EXPECT_TRUE(channel.closed());
  EXPECT_FALSE(channel.try_push(2));
  EXPECT_THAT(channel.wait_drain(), ElementsAre(1));
  EXPECT_THAT(channel.wait_drain(), IsEmpty());
}

TEST(Channel, GivesUpAfterTheTimeout) {
  Channel<int> channel(10);
  EXPECT_THAT(channel.wait_drain_for(1ms), IsEmpty());
  EXPECT_FALSE(channel.closed());
}

TEST(Channel, WakesTheConsumerOnCloseAndOnPush) {
  Channel<int> closing(10);
  std::thread closer([&] { closing.close(); });
  EXPECT_THAT(closing.wait_drain(), IsEmpty());
  closer.join();

  Channel<int> pushing(10);
  std::thread pusher([&] { EXPECT_TRUE(pushing.try_push(7)); });
  EXPECT_THAT(pushing.wait_drain_for(1h), ElementsAre(7));
  pusher.join();
}

TEST(Channel, LosesNothingOfManyProducers) {
  Channel<int> channel(100000);
  constexpr int kProducers = 4;
  constexpr int kItems = 2000;
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p) {
    producers.emplace_back([&channel, p] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_TRUE(channel.try_push(p * kItems + i));
      }
    });
  }
  std::vector<int> next(kProducers, 0);
  int received = 0;
  while (received < kProducers * kItems) {
    for (const int item : channel.wait_drain()) {
      const auto producer = static_cast<size_t>(item / kItems);
      EXPECT_EQ(item % kItems, next[producer]++);
      ++received;
    }
  }
  for (auto& producer : producers) {
    producer.join();
  }
}

}  // namespace
}  // namespace deepinfer::base
