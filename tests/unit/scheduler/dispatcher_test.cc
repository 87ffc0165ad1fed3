#include "scheduler/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <random>
#include <stdexcept>
#include <thread>

#include "unit/constraint/harness.h"
#include "unit/scheduler/scheduler_harness.h"

namespace deepinfer::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// Holds steps back so that a test can act in the middle of one. Open at first.
class Gate {
 public:
  void shut() { set(false); }
  void open() { set(true); }

  // Called by the executor.
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
  }
  // Waits until a step is held back.
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0 && !open_; });
  }

 private:
  void set(bool open) {
    {
      const std::lock_guard lock(mutex_);
      open_ = open;
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int waiting_ = 0;
};

const engine::ExecutorCapacity kCapacity = support::small_capacity(64, 4, 4, 200);

class DispatcherTest : public ::testing::Test {
 protected:
  void start(int32_t max_num_seqs = 4, int32_t max_num_queued_reqs = 1000,
             const CompilerFactory& make_compiler = {}) {
    Dispatcher::Options options;
    options.scheduler.max_num_seqs = max_num_seqs;
    options.scheduler.max_num_queued_reqs = max_num_queued_reqs;
    options.scheduler.max_num_batched_tokens = 32;
    options.seed = 5;
    options.hang_timeout = 30s;
    auto started = Dispatcher::start(
        options,
        [this]() -> Result<std::unique_ptr<engine::Executor>> {
          auto executor = std::make_unique<support::FakeExecutor>(kCapacity);
          executor->before_step = [this](const engine::Batch& batch) { return before_step(batch); };
          return std::unique_ptr<engine::Executor>(std::move(executor));
        },
        clock_, make_compiler);
    ASSERT_TRUE(started.has_value()) << started.status().message();
    llm_ = std::move(started).value();
  }

  Status before_step(const engine::Batch&) {
    gate_.pass();
    if (throw_.load()) {
      throw std::runtime_error("thrown by the executor");
    }
    return fail_.load() ? internal_error("scripted fault") : Status::ok();
  }

  std::unique_ptr<OutputStream> submit(GenerateRequest request) {
    auto stream = llm_->submit(std::move(request));
    EXPECT_TRUE(stream.has_value()) << stream.status().message();
    return stream.has_value() ? std::move(stream).value() : nullptr;
  }

  static Collected drain(OutputStream& stream) {
    Collected got;
    for (;;) {
      StreamEvent event = stream.wait_for(1h);
      if (std::holds_alternative<StreamEnd>(event)) {
        return got;
      }
      TokenOutput output = std::get<TokenOutput>(std::move(event));
      got.tokens.insert(got.tokens.end(), output.tokens.begin(), output.tokens.end());
      got.num_finishes += output.finish ? 1 : 0;
      got.last = std::move(output);
    }
  }

  // A short request that is served after everything before it has been taken in.
  void settle() {
    auto stream = submit(make_request({1}, 1));
    drain(*stream);
  }

  void expect_idle() const {
    const LlmStats stats = llm_->stats();
    EXPECT_EQ(stats.num_running, 0);
    EXPECT_EQ(stats.num_waiting, 0);
    EXPECT_EQ(stats.num_waiting_prompt_tokens, 0);
    EXPECT_EQ(stats.blocks_used, 0);
  }

  support::ManualClock clock_;
  Gate gate_;
  std::atomic<bool> fail_{false};
  std::atomic<bool> throw_{false};
  std::unique_ptr<Llm> llm_;
};

TEST_F(DispatcherTest, DescribesTheModel) {
  start();
  EXPECT_EQ(llm_->model().vocab_size, 100);
  EXPECT_EQ(llm_->model().max_model_len, 200);
  EXPECT_EQ(llm_->model().system_fingerprint, "fake");
  EXPECT_EQ(llm_->stats().blocks_total, 64);
  EXPECT_EQ(llm_->stats().steps, 0U);  // the self-test is nobody's request
  EXPECT_LT(llm_->stats().last_step_age_s, 0);
  EXPECT_TRUE(llm_->health().is_ok());
}

TEST_F(DispatcherTest, StreamsTheTokensOfOneRequest) {
  start();
  const GenerateRequest request = make_request(make_prompt(50, 1), 20);
  auto stream = submit(request);
  const Collected got = drain(*stream);
  EXPECT_EQ(got.tokens, expected_tokens(request, 0, kCapacity));
  EXPECT_EQ(got.num_finishes, 1);
  EXPECT_EQ(got.last.usage.prompt_tokens, 50);
  EXPECT_EQ(got.last.usage.completion_tokens, 20);
  const LlmStats stats = llm_->stats();
  EXPECT_EQ(stats.prompt_tokens, 50U);
  EXPECT_EQ(stats.generation_tokens, 20U);
  EXPECT_EQ(stats.finished_length, 1U);
  EXPECT_EQ(stats.steps, 21U);  // 32 + 18 prompt tokens, then 19 decodes
  EXPECT_EQ(stats.last_step_age_s, 0.0);
  expect_idle();
}

TEST_F(DispatcherTest, UsesTheRequestsSeedOrOneOfItsOwn) {
  start();
  GenerateRequest request = make_request(make_prompt(5, 1), 10);
  request.sampling.temperature = 1.0F;
  request.sampling.seed = 77;
  EXPECT_EQ(drain(*submit(request)).tokens, expected_tokens(request, 77, kCapacity));
  request.sampling.seed.reset();
  const auto one = drain(*submit(request)).tokens;
  const auto other = drain(*submit(request)).tokens;
  EXPECT_NE(one, other);
}

TEST_F(DispatcherTest, RefusesBadRequestsBeforeTheEngineSeesThem) {
  start();
  GenerateRequest request = make_request({1, 100}, 4);
  EXPECT_EQ(llm_->submit(request).error().param(), "prompt");
  request = make_request(make_prompt(200, 1), 4);
  EXPECT_EQ(llm_->submit(request).error().reason(), "context_length_exceeded");
  EXPECT_EQ(llm_->stats().refused, 2U);
  EXPECT_EQ(drain(*submit(make_request(make_prompt(199, 1), 4))).tokens.size(), 1U);
}

TEST_F(DispatcherTest, RunsTwoQueuesFourRefusesTheRest) {
  start(2, 4);
  gate_.shut();
  std::vector<std::unique_ptr<OutputStream>> streams;
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    auto stream = llm_->submit(make_request(make_prompt(3, i), 5));
    if (stream) {
      streams.push_back(std::move(stream).value());
    } else {
      EXPECT_EQ(stream.error().code(), StatusCode::kResourceExhausted);
      EXPECT_EQ(stream.error().reason(), "server_overloaded");
      ++refused;
    }
  }
  EXPECT_THAT(streams, SizeIs(6));
  EXPECT_EQ(refused, 14);
  gate_.open();
  for (auto& stream : streams) {
    EXPECT_EQ(drain(*stream).last.finish, FinishReason::kLength);
  }
  EXPECT_EQ(llm_->stats().refused, 14U);
  expect_idle();
}

TEST_F(DispatcherTest, G02_OthersGoOnWhileACompilationIsAtItsLimit) {
  start(4, 1000, [](const engine::ExecutorCapacity&) {
    // Without a thread that works, a request waits for all of its deadline.
    return std::make_unique<constraint::ConstraintCompiler>(
        constraint::testing::small_vocabulary(),
        constraint::CompilerOptions{.deadline = 500ms, .num_threads = 0});
  });
  std::atomic<bool> over{false};
  std::thread waiting([&] {
    GenerateRequest request = make_request({1}, 1);
    request.ignore_eos = false;
    request.constraint = ConstraintSpec{.kind = ConstraintSpec::Kind::kRegex, .text = "a"};
    const auto refused = llm_->submit(std::move(request));
    EXPECT_FALSE(refused.has_value());
    EXPECT_EQ(refused.status().reason(), "grammar_too_complex");
    over = true;
  });
  int ended_meanwhile = 0;
  while (!over) {
    settle();
    ended_meanwhile += over ? 0 : 1;
  }
  waiting.join();
  // A few may end before the other has come that far; then all would wait if it held them up.
  EXPECT_GT(ended_meanwhile, 100);
}

TEST_F(DispatcherTest, O04_FreesAPlaceWhenTheEngineConfirmsNotWhenTheClientLeaves) {
  start(1, 0);
  gate_.shut();
  auto stream = submit(make_request(make_prompt(3, 1), 100));
  gate_.wait_until_held();
  stream.reset();  // in the middle of a step
  EXPECT_EQ(llm_->submit(make_request({1}, 1)).error().reason(), "server_overloaded");
  gate_.open();
  Result<std::unique_ptr<OutputStream>> next = llm_->submit(make_request({1}, 1));
  while (!next) {
    std::this_thread::yield();
    next = llm_->submit(make_request({1}, 1));
  }
  EXPECT_EQ(drain(**next).last.finish, FinishReason::kLength);
  EXPECT_EQ(llm_->stats().finished_abort, 1U);
  expect_idle();
}

TEST_F(DispatcherTest, NeverStartsRequestsWhoseClientsGaveUpInTheQueue) {
  start(1);
  gate_.shut();
  auto running = submit(make_request(make_prompt(3, 1), 3));
  gate_.wait_until_held();
  std::vector<std::unique_ptr<OutputStream>> queued;
  for (int i = 0; i < 50; ++i) {
    queued.push_back(submit(make_request(make_prompt(7, i), 2)));
  }
  EXPECT_EQ(llm_->stats().num_waiting, 50);
  EXPECT_EQ(llm_->stats().num_running, 1);
  EXPECT_EQ(llm_->stats().num_waiting_prompt_tokens, 350);
  queued.erase(queued.begin(), queued.begin() + 40);
  gate_.open();
  for (auto& stream : queued) {
    EXPECT_EQ(drain(*stream).last.finish, FinishReason::kLength);
  }
  EXPECT_EQ(drain(*running).last.finish, FinishReason::kLength);
  EXPECT_EQ(llm_->stats().prompt_tokens, 3U + 10 * 7);
  EXPECT_EQ(llm_->stats().finished_abort, 40U);
  expect_idle();
}

TEST_F(DispatcherTest, C01_C04_ReturnsEverythingAfterAThousandRandomCancels) {
  start(4);
  std::atomic<int> finished{0};
  std::atomic<int> submitted{0};
  const auto client = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 250; ++i) {
      auto stream = submit(make_request(make_prompt(1 + static_cast<int32_t>(random() % 60), i),
                                        1 + static_cast<int32_t>(random() % 50)));
      ++submitted;
      for (uint64_t reads = random() % 12; reads > 0; --reads) {
        StreamEvent event = stream->wait_for(std::chrono::milliseconds(random() % 2));
        auto* output = std::get_if<TokenOutput>(&event);
        if (output != nullptr && output->finish) {
          ++finished;
          break;
        }
      }
    }
  };
  std::vector<std::thread> clients;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    clients.emplace_back(client, seed);
  }
  for (auto& thread : clients) {
    thread.join();
  }
  llm_->shutdown(std::chrono::steady_clock::now() + 1h);
  const LlmStats stats = llm_->stats();
  EXPECT_EQ(stats.finished_abort + stats.finished_length, static_cast<uint64_t>(submitted));
  EXPECT_GE(stats.finished_length, static_cast<uint64_t>(finished));
  EXPECT_GT(stats.finished_abort, 0U);
  EXPECT_EQ(stats.finished_stop + stats.finished_error + stats.refused, 0U);
  expect_idle();
}

TEST_F(DispatcherTest, C05_GivesTheNextTurnTheAnswerOfAFreshEngine) {
  start(2);
  for (int round = 0; round < 100; ++round) {
    const GenerateRequest request = make_request(make_prompt(20, round), 12);
    {
      auto abandoned = submit(request);
      abandoned->wait_for(1h);
    }
    EXPECT_EQ(drain(*submit(request)).tokens, expected_tokens(request, 0, kCapacity));
  }
}

// ---- Counting.

TEST_F(DispatcherTest, M01_CountsEachRequestOnceUnderItsOwnReason) {
  start(3, 2);
  GenerateRequest stops = make_request(make_prompt(4, 1), 30);
  stops.stop_token_ids = {expected_tokens(stops, 0, kCapacity)[3]};
  uint64_t generated = drain(*submit(stops)).tokens.size();
  for (int i = 0; i < 4; ++i) {
    generated += drain(*submit(make_request(make_prompt(5, i), 6))).tokens.size();
  }
  gate_.shut();
  std::vector<std::unique_ptr<OutputStream>> open;
  for (int i = 0; i < 5; ++i) {  // three run, two wait
    open.push_back(submit(make_request(make_prompt(2, i), 100)));
  }
  EXPECT_FALSE(llm_->submit(make_request({1}, 1)).has_value());
  open.clear();
  gate_.open();
  llm_->shutdown(std::chrono::steady_clock::now() + 1h);
  const LlmStats stats = llm_->stats();
  EXPECT_EQ(stats.finished_stop, 1U);
  EXPECT_EQ(stats.finished_length, 4U);
  EXPECT_EQ(stats.finished_abort, 5U);
  EXPECT_EQ(stats.finished_error, 0U);
  EXPECT_EQ(stats.refused, 1U);
  EXPECT_GE(stats.generation_tokens, generated);
  EXPECT_LE(stats.generation_tokens, generated + 3);
}

// ---- Faults.

TEST_F(DispatcherTest, FailsOpenRequestsAndRefusesLaterOnesAfterAFault) {
  start(1);
  gate_.shut();
  auto running = submit(make_request(make_prompt(3, 1), 100));
  auto waiting = submit(make_request(make_prompt(3, 2), 100));
  gate_.wait_until_held();
  fail_ = true;
  gate_.open();
  for (auto* stream : {running.get(), waiting.get()}) {
    const Collected got = drain(*stream);
    EXPECT_EQ(got.last.finish, FinishReason::kError);
    EXPECT_THAT(got.last.error.message(), HasSubstr("scripted fault"));
  }
  EXPECT_EQ(llm_->health().code(), StatusCode::kUnavailable);
  EXPECT_THAT(llm_->health().message(), HasSubstr("scripted fault"));
  EXPECT_EQ(llm_->submit(make_request({1}, 1)).error().code(), StatusCode::kUnavailable);
  EXPECT_EQ(llm_->stats().finished_error, 2U);
  EXPECT_EQ(llm_->stats().refused, 1U);
  expect_idle();
}

TEST_F(DispatcherTest, TreatsAnExceptionOfTheExecutorAsAFault) {
  start();
  throw_ = true;
  auto stream = submit(make_request(make_prompt(3, 1), 100));
  const Collected got = drain(*stream);
  EXPECT_EQ(got.last.finish, FinishReason::kError);
  EXPECT_THAT(got.last.error.message(), HasSubstr("thrown by the executor"));
  EXPECT_FALSE(llm_->health().is_ok());
}

TEST_F(DispatcherTest, F02_SaysThatAStepHangs) {
  start();
  settle();
  gate_.shut();
  auto stream = submit(make_request(make_prompt(3, 1), 1));
  gate_.wait_until_held();
  clock_.advance(29s);
  EXPECT_TRUE(llm_->health().is_ok());
  clock_.advance(2s);
  EXPECT_EQ(llm_->health().code(), StatusCode::kUnavailable);
  EXPECT_THAT(llm_->health().message(), HasSubstr("31 s"));
  EXPECT_DOUBLE_EQ(llm_->stats().last_step_age_s, 31.0);
  gate_.open();
  drain(*stream);
  EXPECT_TRUE(llm_->health().is_ok());
  clock_.advance(10h);  // idle is fine
  EXPECT_TRUE(llm_->health().is_ok());
}

TEST(Dispatcher, SaysWhyItDidNotStart) {
  const base::SystemClock clock;
  const auto missing = Dispatcher::start(
      {}, []() -> Result<std::unique_ptr<engine::Executor>> { return not_found("no such model"); },
      clock);
  EXPECT_EQ(missing.error().code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.error().message(), "no such model");

  const auto untested = Dispatcher::start(
      {},
      []() -> Result<std::unique_ptr<engine::Executor>> {
        auto executor = std::make_unique<support::FakeExecutor>(kCapacity);
        executor->before_step = [](const engine::Batch&) {
          return internal_error("dead on arrival");
        };
        return std::unique_ptr<engine::Executor>(std::move(executor));
      },
      clock);
  EXPECT_EQ(untested.error().message(), "self-test: dead on arrival");

  const auto thrown = Dispatcher::start(
      {},
      []() -> Result<std::unique_ptr<engine::Executor>> { throw std::runtime_error("no memory"); },
      clock);
  EXPECT_THAT(thrown.error().message(), HasSubstr("no memory"));
}

// ---- Shutdown.

TEST_F(DispatcherTest, DrainsBeforeItStops) {
  start(2);
  const GenerateRequest request = make_request(make_prompt(10, 1), 30);
  std::vector<std::unique_ptr<OutputStream>> streams;
  for (int i = 0; i < 6; ++i) {
    streams.push_back(submit(request));
  }
  llm_->shutdown(std::chrono::steady_clock::now() + 1h);
  for (auto& stream : streams) {
    EXPECT_EQ(drain(*stream).tokens, expected_tokens(request, 0, kCapacity));
  }
  EXPECT_EQ(llm_->submit(request).error().code(), StatusCode::kUnavailable);
  EXPECT_EQ(llm_->health().code(), StatusCode::kUnavailable);
  llm_->shutdown(std::chrono::steady_clock::now());  // once more is harmless
}

// Whether a request was aborted or done by then is a matter of timing; see RankLoop for the rest.
TEST_F(DispatcherTest, EndsEverythingAtTheDeadline) {
  start(1);
  gate_.shut();
  std::vector<std::unique_ptr<OutputStream>> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(submit(make_request(make_prompt(3, i), 190)));
  }
  gate_.wait_until_held();
  std::thread stopping([&] { llm_->shutdown(std::chrono::steady_clock::now()); });
  while (llm_->submit(make_request({1}, 1)).has_value()) {
    std::this_thread::yield();
  }
  gate_.open();
  stopping.join();
  for (auto& stream : streams) {
    EXPECT_EQ(drain(*stream).num_finishes, 1);
  }
  expect_idle();
}

TEST_F(DispatcherTest, EndsEveryStreamWhenSubmitsRaceWithShutdown) {
  for (int round = 0; round < 30; ++round) {
    start(2);
    std::atomic<int> ended{0};
    std::atomic<int> admitted{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 3; ++c) {
      clients.emplace_back([&, c] {
        for (int i = 0;; ++i) {
          auto stream = llm_->submit(make_request(make_prompt(3 + c, i), 5));
          if (!stream) {
            EXPECT_EQ(stream.error().code(), StatusCode::kUnavailable);
            return;
          }
          ++admitted;
          ended += drain(**stream).num_finishes;
        }
      });
    }
    llm_->shutdown(std::chrono::steady_clock::now() + std::chrono::microseconds(round * 20));
    for (auto& client : clients) {
      client.join();
    }
    EXPECT_EQ(ended, admitted);
    expect_idle();
  }
}

TEST_F(DispatcherTest, EndsStreamsThatOutliveTheEngine) {
  start(1);
  gate_.shut();
  auto stream = submit(make_request(make_prompt(3, 1), 100));
  gate_.wait_until_held();
  std::thread destroying([&] { llm_.reset(); });
  gate_.open();
  destroying.join();
  EXPECT_EQ(drain(*stream).num_finishes, 1);
}

}  // namespace
}  // namespace deepinfer::scheduler
