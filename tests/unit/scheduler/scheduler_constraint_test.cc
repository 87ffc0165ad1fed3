#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "support/manual_clock.h"
#include "tests/unit/constraint/harness.h"

namespace deepinfer::scheduler {
namespace {

namespace ct = constraint::testing;
using Kind = ConstraintSpec::Kind;

/// A scheduler whose steps draw any allowed token, or `free` where nothing is constrained.
class ConstrainedRun {
 public:
  explicit ConstrainedRun(int32_t num_blocks)
      : scheduler_({.max_num_seqs = 4, .max_num_batched_tokens = 64},
                   {.num_blocks = num_blocks,
                    .block_size = 4,
                    .num_slots = 4,
                    .max_model_len = 256,
                    .vocab_size = 261,
                    .eos_token_ids = {ct::kEos}}) {}

  SequenceId add(const ConstraintSpec& spec, int32_t max_tokens = 60) {
    GenerateRequest request{.prompt = {1, 2, 3}, .max_tokens = max_tokens};
    request.constraint = spec;
    const Status added =
        scheduler_.add(++last_id_, std::move(request), 1, clock_.now(), ct::compiled(spec));
    EXPECT_TRUE(added.is_ok());
    return last_id_;
  }

  void step(TokenId free = 'x') {
    const engine::Batch batch = scheduler_.schedule(clock_.now());
    engine::StepOutput output{.step = batch.step, .sequences = {}};
    for (const engine::BatchSequence& sequence : batch.sequences) {
      if (sequence.sampling) {
        output.sequences.push_back({.id = sequence.id, .tokens = {draw(*sequence.sampling, free)}});
      }
    }
    EXPECT_TRUE(scheduler_.update(output, clock_.now()).is_ok());
    for (RequestOutput& result : scheduler_.take_outputs()) {
      auto& tokens = tokens_[result.id];
      tokens.insert(tokens.end(), result.output.tokens.begin(), result.output.tokens.end());
      last_[result.id] = std::move(result.output);
    }
  }

  void run() {
    for (int i = 0; i < 5000 && scheduler_.has_work(); ++i) {
      step();
    }
    EXPECT_FALSE(scheduler_.has_work());
  }

  const std::vector<TokenId>& tokens(SequenceId id) { return tokens_[id]; }
  const TokenOutput& last(SequenceId id) { return last_[id]; }
  Scheduler& scheduler() { return scheduler_; }
  const support::ManualClock& clock() const { return clock_; }

 private:
  TokenId draw(const engine::SamplingRow& row, TokenId free) {
    if (row.constraint == nullptr) {
      EXPECT_TRUE(std::find(row.banned.begin(), row.banned.end(), free) == row.banned.end());
      return free;
    }
    std::vector<TokenId> allowed;
    for (TokenId token = 0; token < 261; ++token) {
      if (ct::allows(*row.constraint, token)) {
        allowed.push_back(token);
      }
    }
    EXPECT_FALSE(allowed.empty());
    return allowed[random_() % allowed.size()];
  }

  support::ManualClock clock_;
  Scheduler scheduler_;
  std::mt19937_64 random_{1};
  std::map<SequenceId, std::vector<TokenId>> tokens_;
  std::map<SequenceId, TokenOutput> last_;
  SequenceId last_id_ = 0;
};

std::string text_of(const std::vector<TokenId>& tokens) {
  std::string text;
  for (const TokenId token : tokens) {
    text += token < 256 ? std::string(1, static_cast<char>(token)) : "";
  }
  return text;
}

const ConstraintSpec kDigits{.kind = Kind::kRegex, .text = "[0-9]{40}"};

TEST(SchedulerConstraint, EveryTokenFitsAndTheEndComesWithIt) {
  ConstrainedRun run(100);
  const SequenceId id = run.add(kDigits);
  run.run();
  EXPECT_TRUE(ct::matches(kDigits, text_of(run.tokens(id))));
  EXPECT_EQ(run.tokens(id).back(), ct::kEos);
  EXPECT_EQ(run.last(id).finish, FinishReason::kStop);
}

TEST(SchedulerConstraint, PreemptionKeepsThePlaceInTheConstraint) {
  ConstrainedRun run(24);
  std::vector<SequenceId> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(run.add(kDigits));
  }
  run.run();
  EXPECT_GT(run.scheduler().num_preemptions(), 0U);
  for (const SequenceId id : ids) {
    EXPECT_TRUE(ct::matches(kDigits, text_of(run.tokens(id))));
  }
}

TEST(SchedulerConstraint, BeginsBehindTheReasoning) {
  ConstrainedRun run(100);
  ConstraintSpec spec = kDigits;
  spec.starts_after = ct::kThinkEnd;
  const SequenceId id = run.add(spec);
  run.step('h');
  run.step('m');
  run.step(ct::kThinkEnd);
  run.run();
  EXPECT_TRUE(
      ct::matches(spec, std::vector<TokenId>(run.tokens(id).begin(), run.tokens(id).end() - 1)));
}

TEST(SchedulerConstraint, TheLimitCuts) {
  ConstrainedRun run(100);
  const SequenceId id = run.add(kDigits, 7);
  run.run();
  EXPECT_EQ(run.tokens(id).size(), 7U);
  EXPECT_EQ(run.last(id).finish, FinishReason::kLength);
}

TEST(SchedulerConstraint, AnAbortLeavesTheOthersAlone) {
  ConstrainedRun run(100);
  const SequenceId gone = run.add(kDigits);
  const SequenceId stays = run.add(kDigits);
  run.step();
  run.step();
  run.scheduler().abort(gone, run.clock().now());
  run.run();
  EXPECT_EQ(run.last(gone).finish, FinishReason::kAbort);
  EXPECT_TRUE(ct::matches(kDigits, text_of(run.tokens(stays))));
}

}  // namespace
}  // namespace deepinfer::scheduler
