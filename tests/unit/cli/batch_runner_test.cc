#include "cli/batch_runner.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/cli/scripted_llm.h"

namespace deepinfer::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GenerateRequest request(std::string id, std::vector<TokenId> prompt) {
  GenerateRequest request;
  request.id = std::move(id);
  request.prompt = std::move(prompt);
  return request;
}

struct Collected {
  std::vector<size_t> order;
  std::vector<Outcome> outcomes;
  BatchProgress last;
};

Collected run(Llm& llm, std::vector<Result<GenerateRequest>> requests,
              int32_t max_in_flight = 100) {
  Collected collected;
  run_batch(llm, std::move(requests), max_in_flight,
            {.on_outcome =
                 [&](size_t index, const Outcome& outcome) {
                   collected.order.push_back(index);
                   collected.outcomes.push_back(outcome);
                 },
             .on_progress = [&](const BatchProgress& progress) { collected.last = progress; }});
  return collected;
}

// The longest first, so that later requests finish earlier.
std::vector<Result<GenerateRequest>> shrinking_requests(int count) {
  std::vector<Result<GenerateRequest>> requests;
  for (int i = 0; i < count; ++i) {
    requests.emplace_back(
        request(std::to_string(i), std::vector<TokenId>(static_cast<size_t>(count - i), i)));
  }
  return requests;
}

TEST(BatchRunner, HandsOutcomesOutInTheOrderOfTheRequests) {
  ScriptedLlm llm(100);
  const Collected got = run(llm, shrinking_requests(5));
  EXPECT_THAT(got.order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(got.outcomes[0]->tokens, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(got.outcomes[4]->tokens, ElementsAre(4));
  EXPECT_EQ(got.outcomes[0]->usage.completion_tokens, 5);
  EXPECT_EQ(got.outcomes[0]->finish, FinishReason::kLength);
}

TEST(BatchRunner, RunsManyAtOnceButNotMoreThanAllowed) {
  ScriptedLlm llm(100);
  run(llm, shrinking_requests(20), /*max_in_flight=*/7);
  EXPECT_EQ(llm.most_running(), 7);
  EXPECT_EQ(llm.refused(), 0);
}

TEST(BatchRunner, WaitsForRoomWhenTheEngineIsFull) {
  ScriptedLlm llm(/*capacity=*/2);
  const Collected got = run(llm, shrinking_requests(9));
  EXPECT_EQ(got.outcomes.size(), 9U);
  for (const Outcome& outcome : got.outcomes) {
    EXPECT_TRUE(outcome.has_value());
  }
  EXPECT_GT(llm.refused(), 0);
}

TEST(BatchRunner, ReportsARefusalThatWaitingCannotHelp) {
  ScriptedLlm llm(/*capacity=*/0);
  const Collected got = run(llm, shrinking_requests(2));
  ASSERT_EQ(got.outcomes.size(), 2U);
  EXPECT_EQ(got.outcomes[0].error().code(), StatusCode::kResourceExhausted);
}

TEST(BatchRunner, PassesARequestThatWasNeverOneThrough) {
  ScriptedLlm llm(10);
  std::vector<Result<GenerateRequest>> requests;
  requests.emplace_back(request("a", {1}));
  requests.emplace_back(invalid_argument("no prompt"));
  requests.emplace_back(request("c", {3}));
  const Collected got = run(llm, std::move(requests));
  ASSERT_EQ(got.outcomes.size(), 3U);
  EXPECT_EQ(got.outcomes[1].error().message(), "no prompt");
  EXPECT_THAT(got.outcomes[2]->tokens, ElementsAre(3));
}

TEST(BatchRunner, TurnsAnEngineErrorIntoTheOutcome) {
  ScriptedLlm llm(10);
  llm.fail_request("b", internal_error("a rank failed"));
  std::vector<Result<GenerateRequest>> requests;
  requests.emplace_back(request("a", {1}));
  requests.emplace_back(request("b", {2, 2}));
  const Collected got = run(llm, std::move(requests));
  EXPECT_TRUE(got.outcomes[0].has_value());
  EXPECT_EQ(got.outcomes[1].error().message(), "a rank failed");
}

TEST(BatchRunner, NoticesAStreamThatEndsWithoutReason) {
  ScriptedLlm llm(10);
  llm.end_request_early("a");
  std::vector<Result<GenerateRequest>> requests;
  requests.emplace_back(request("a", {1}));
  const Collected got = run(llm, std::move(requests));
  EXPECT_THAT(got.outcomes[0].error().message(), HasSubstr("without a finish reason"));
}

TEST(BatchRunner, PairsProbedLogitsWithTheirTokens) {
  ScriptedLlm llm(10);
  GenerateRequest probing = request("a", {1, 2});
  probing.probe_logits = {7, 9};
  std::vector<Result<GenerateRequest>> requests;
  requests.emplace_back(std::move(probing));
  const Collected got = run(llm, std::move(requests));
  EXPECT_THAT(got.outcomes[0]->probe_logits, ElementsAre(std::pair(7, 0.5F), std::pair(9, 0.5F)));
}

TEST(BatchRunner, CountsProgress) {
  ScriptedLlm llm(10);
  const Collected got = run(llm, shrinking_requests(4));
  EXPECT_EQ(got.last.requests_total, 4);
  EXPECT_EQ(got.last.requests_done, 4);
  EXPECT_EQ(got.last.tokens_generated, 4 + 3 + 2 + 1);
}

TEST(BatchRunner, AnEmptyBatchIsDoneAtOnce) {
  ScriptedLlm llm(10);
  EXPECT_TRUE(run(llm, {}).outcomes.empty());
}

}  // namespace
}  // namespace deepinfer::cli
