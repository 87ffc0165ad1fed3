// The engine behind a process boundary: the real supervisor over a real child process, whose
// engine is the real scheduler over a fake executor.

#include "process/remote_llm.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "process/frame_socket.h"
#include "test_orders.h"

namespace deepinfer::process {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using namespace testing;  // the orders of the test engine

SupervisorOptions options_for(const std::string& model_dir) {
  SupervisorOptions options;
  options.command = {TEST_ENGINE};
  options.start.engine.model_dir = model_dir;
  options.start.engine.scheduler.max_num_seqs = 16;
  options.start.engine.scheduler.max_num_batched_tokens = 256;
  options.start.log_level = "off";
  return options;
}

GenerateRequest request_of(std::vector<TokenId> prompt, int32_t max_tokens) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.sampling.temperature = 0.0F;
  return request;
}

TokenOutput collect(OutputStream& stream) {
  TokenOutput all;
  for (;;) {
    StreamEvent event = stream.wait_for(1min);
    if (!std::holds_alternative<TokenOutput>(event)) {
      return all;
    }
    TokenOutput output = std::get<TokenOutput>(std::move(event));
    output.tokens.insert(output.tokens.begin(), all.tokens.begin(), all.tokens.end());
    all = std::move(output);
  }
}

bool wait_until(const std::function<bool()>& condition) {
  const auto give_up = base::steady_now() + 1min;
  while (!condition()) {
    if (base::steady_now() > give_up) {
      return false;
    }
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// Children of this process.
std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  DIR* tasks = ::opendir("/proc/self/task");
  for (const dirent* entry = ::readdir(tasks); entry != nullptr; entry = ::readdir(tasks)) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/children");
    for (pid_t pid = 0; file >> pid;) {
      pids.push_back(pid);
    }
  }
  ::closedir(tasks);
  return pids;
}

class RemoteEngine : public ::testing::Test {
 protected:
  void open(const SupervisorOptions& options) {
    auto opened = RemoteLlm::open(options);
    ASSERT_TRUE(opened.has_value()) << opened.status().message();
    llm_ = *std::move(opened);
  }
  std::unique_ptr<OutputStream> submit(GenerateRequest request) {
    auto stream = llm_->submit(std::move(request));
    EXPECT_TRUE(stream.has_value()) << stream.status().message();
    return stream ? *std::move(stream) : nullptr;
  }
  /// How a request ends that harms the engine, which may be gone before it answers.
  Status end_of(GenerateRequest request) {
    auto stream = llm_->submit(std::move(request));
    return stream ? collect(**stream).error : stream.status();
  }
  bool serves() {
    auto stream = llm_->submit(request_of({1, 2}, 2));
    return stream && collect(**stream).finish == FinishReason::kLength;
  }

  std::unique_ptr<Llm> llm_;
};

TEST_F(RemoteEngine, GeneratesLikeTheEngineInThisProcess) {
  open(options_for(kModelGood));
  EXPECT_EQ(llm_->model().vocab_size, 100);
  EXPECT_TRUE(llm_->health().is_ok());
  std::vector<std::unique_ptr<OutputStream>> streams;
  for (TokenId first = 1; first <= 40; ++first) {
    streams.push_back(submit(request_of({first, 2, 3}, 50)));
  }
  for (const auto& stream : streams) {
    const TokenOutput output = collect(*stream);
    EXPECT_EQ(output.tokens.size(), 50U);
    EXPECT_EQ(output.finish, FinishReason::kLength);
    EXPECT_EQ(output.usage.prompt_tokens, 3);
    EXPECT_GT(output.timings.finished_s, 0.0);
  }
  EXPECT_TRUE(wait_until([&] { return llm_->stats().finished_length == 40; }));
  EXPECT_EQ(llm_->stats().generation_tokens, 2000U);
}

TEST_F(RemoteEngine, RefusesWhatTheEngineRefuses) {
  open(options_for(kModelGood));
  const Status refusal = llm_->submit(request_of({1, 1000}, 1)).status();
  EXPECT_EQ(refusal.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refusal.message(), HasSubstr("1000"));
  EXPECT_TRUE(serves());
}

TEST_F(RemoteEngine, RefusesWhatNoMessageHoldsAndServesOn) {
  open(options_for(kModelGood));
  const auto running = submit(request_of({1}, 200));
  GenerateRequest large = request_of({1}, 1);
  large.id.assign(kMaxFrameBytes, 'x');
  EXPECT_EQ(llm_->submit(std::move(large)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(collect(*running).finish, FinishReason::kLength);
}

TEST_F(RemoteEngine, AnOutputThatNoMessageHoldsEndsTheEngineAndIsNotLostSilently) {
  open(options_for(kModelTalksTooMuch));
  const Status end = end_of(request_of({1}, 5));
  EXPECT_EQ(end.reason(), kReasonEngineFailed);
}

TEST_F(RemoteEngine, CancelsWhatIsDropped) {
  open(options_for(kModelGood));
  collect(*submit(request_of({kOrderBeSlow}, 1)));
  auto stream = submit(request_of({1}, 3000));
  EXPECT_TRUE(std::holds_alternative<TokenOutput>(stream->wait_for(1min)));
  stream.reset();
  EXPECT_TRUE(wait_until([&] { return llm_->stats().finished_abort == 1; }));
  EXPECT_EQ(llm_->stats().num_running, 0);
  EXPECT_EQ(llm_->stats().blocks_used, 0);
}

TEST_F(RemoteEngine, SaysWhyItCannotOpen) {
  EXPECT_EQ(RemoteLlm::open(options_for(kModelMissing)).status().code(), StatusCode::kNotFound);
  const Status dies = RemoteLlm::open(options_for(kModelDiesLoading)).status();
  EXPECT_EQ(dies.code(), StatusCode::kUnavailable);
  EXPECT_THAT(dies.message(), HasSubstr("ended with status 43"));
  EXPECT_TRUE(children().empty());
}

TEST(FieldCase, F01_AKilledEngineEndsItsRequestsAndComesBack) {
  auto opened = RemoteLlm::open(options_for(kModelGood));
  ASSERT_TRUE(opened.has_value()) << opened.status().message();
  Llm& llm = **opened;
  collect(**llm.submit(request_of({kOrderBeSlow}, 1)));
  auto stream = *llm.submit(request_of({1}, 3000));
  EXPECT_TRUE(std::holds_alternative<TokenOutput>(stream->wait_for(1min)));
  ASSERT_EQ(children().size(), 1U);
  ::kill(children().front(), SIGKILL);
  const TokenOutput rest = collect(*stream);
  EXPECT_EQ(rest.finish, FinishReason::kError);
  EXPECT_EQ(rest.error.code(), StatusCode::kUnavailable);
  EXPECT_EQ(rest.error.reason(), kReasonEngineFailed);
  const auto serves = [&] {
    auto next = llm.submit(request_of({1, 2}, 2));
    return next && collect(**next).finish == FinishReason::kLength;
  };
  EXPECT_TRUE(wait_until(serves));
  EXPECT_TRUE(llm.failure().is_ok());
  EXPECT_EQ(llm.stats().finished_error, 1U);
}

TEST_F(RemoteEngine, AFaultOfTheExecutorIsADeathOfTheEngine) {
  open(options_for(kModelGood));
  EXPECT_FALSE(end_of(request_of({kOrderFailStep}, 5)).is_ok());
  EXPECT_TRUE(wait_until([&] { return serves(); }));
}

TEST_F(RemoteEngine, AHungStepIsEnded) {
  SupervisorOptions options = options_for(kModelGood);
  options.hang_timeout = options.start.engine.hang_timeout = 300ms;
  open(options);
  EXPECT_EQ(end_of(request_of({kOrderHang}, 5)).reason(), kReasonEngineHung);
  EXPECT_TRUE(wait_until([&] { return serves(); }));
}

TEST_F(RemoteEngine, AStoppedProcessIsEndedEvenWhenIdle) {
  SupervisorOptions options = options_for(kModelGood);
  options.hang_timeout = options.start.engine.hang_timeout = 300ms;
  open(options);
  const pid_t first = children().front();
  ::kill(first, SIGSTOP);
  EXPECT_TRUE(wait_until([&] { return llm_->health().reason() == kReasonEngineHung; }));
  EXPECT_TRUE(wait_until([&] { return serves(); }));
  EXPECT_NE(children().front(), first);
}

TEST_F(RemoteEngine, GivesUpWhenTheEngineDiesTooOften) {
  SupervisorOptions options = options_for(kModelGood);
  options.max_restarts = 1;
  open(options);
  EXPECT_FALSE(end_of(request_of({kOrderDie}, 1)).is_ok());
  ASSERT_TRUE(wait_until([&] { return serves(); }));
  EXPECT_TRUE(llm_->failure().is_ok());
  EXPECT_FALSE(end_of(request_of({kOrderDie}, 1)).is_ok());
  ASSERT_TRUE(wait_until([&] { return !llm_->failure().is_ok(); }));
  EXPECT_THAT(llm_->failure().message(), HasSubstr("ended with status 42"));
  EXPECT_EQ(llm_->submit(request_of({1}, 1)).status().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(children().empty());
}

TEST_F(RemoteEngine, LetsRequestsFinishBeforeItStops) {
  open(options_for(kModelGood));
  collect(*submit(request_of({kOrderBeSlow}, 1)));
  const auto stream = submit(request_of({1}, 200));
  llm_->shutdown(base::steady_now() + 1min);
  EXPECT_EQ(collect(*stream).finish, FinishReason::kLength);
  EXPECT_TRUE(children().empty());
}

TEST_F(RemoteEngine, AbortsWhatIsLeftAtTheDeadline) {
  open(options_for(kModelGood));
  collect(*submit(request_of({kOrderBeSlow}, 1)));
  const auto stream = submit(request_of({1}, 3900));
  llm_->shutdown(base::steady_now());
  EXPECT_EQ(collect(*stream).finish, FinishReason::kAbort);
}

TEST_F(RemoteEngine, AnEngineThatHangsDoesNotKeepItFromStopping) {
  open(options_for(kModelGood));
  const auto stream = submit(request_of({kOrderHang}, 1));
  llm_->shutdown(base::steady_now());
  EXPECT_EQ(collect(*stream).finish, FinishReason::kError);
  EXPECT_TRUE(children().empty());
}

TEST_F(RemoteEngine, StreamsMayOutliveTheEngine) {
  open(options_for(kModelGood));
  collect(*submit(request_of({kOrderBeSlow}, 1)));
  auto stream = submit(request_of({1}, 3000));
  llm_.reset();
  const auto finish = collect(*stream).finish;
  EXPECT_TRUE(finish == FinishReason::kAbort || finish == FinishReason::kError);
}

}  // namespace
}  // namespace deepinfer::process
