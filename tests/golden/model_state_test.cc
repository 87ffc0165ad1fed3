/// What a sequence leaves behind in the cache: rollback, reuse, independence of neighbours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "tests/golden/checkpoint_copy.h"
#include "tests/golden/golden_file.h"
#include "tests/golden/model_harness.h"

namespace deepinfer::golden {
namespace {

constexpr float kLogitTolerance = 2e-4F;

void expect_close(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], kLogitTolerance) << "id " << i;
  }
}

const Prompt& prompt_named(const File& file, const std::string& name) {
  for (const Prompt& prompt : file.prompts) {
    if (prompt.name == name) {
      return prompt;
    }
  }
  ADD_FAILURE() << "no prompt " << name;
  return file.prompts.front();
}

/// Tokens that are not what the model would say.
std::vector<int32_t> wrong_tokens(int32_t right, int32_t count, int32_t vocab) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) {
    tokens.push_back((right + 1 + 37 * i) % vocab);
  }
  return tokens;
}

class ModelState : public testing::TestWithParam<std::string> {
 protected:
  ModelState() : dir_("tests/data/" + GetParam()), golden_(load(dir_)), harness_(dir_, "", 3) {}

  std::string dir_;
  File golden_;
  ModelHarness harness_;
};

TEST_P(ModelState, RollsBackOneToEightWrongTokensAtEveryPosition) {
  for (const char* name : {"single", "window", "long"}) {
    const Prompt& prompt = prompt_named(golden_, name);
    for (const bool one_by_one : {false, true}) {
      SCOPED_TRACE(std::string(name) + (one_by_one ? ", one by one" : ", in one step"));
      auto position = static_cast<int32_t>(prompt.ids.size());
      std::vector<float> straight = harness_.run(0, 0, prompt.ids, 0).back();
      std::vector<float> rolled = harness_.run(1, 0, prompt.ids, 0).back();
      for (size_t i = 0; i < prompt.greedy.size(); ++i) {
        expect_close(rolled, straight);
        ASSERT_EQ(argmax(rolled), prompt.greedy[i]) << "token " << i;
        const int32_t count = 1 + static_cast<int32_t>(i) % ModelHarness::kMaxRollback;
        harness_.run(1, position, wrong_tokens(prompt.greedy[i], count, harness_.vocab_size()),
                     one_by_one ? 1 : 0);
        straight = harness_.step({{0, position, {prompt.greedy[i]}}})[0];
        rolled = harness_.step({{1, position, {prompt.greedy[i]}}})[0];
        ++position;
      }
    }
  }
}

TEST_P(ModelState, RollsBackAfterVerifyingDraftsThatAreRightAtFirst) {
  const Prompt& prompt = prompt_named(golden_, "topk");
  const auto length = static_cast<int32_t>(prompt.ids.size());
  harness_.run(0, 0, prompt.ids, 0);
  int32_t known = 0;  // greedy tokens that are in the state
  for (int32_t right = 0; known + right + 1 < 32; right = (right + 3) % 7) {
    // The anchor, `right` correct drafts, and wrong ones up to eight.
    std::vector<int32_t> tokens(prompt.greedy.begin() + known,
                                prompt.greedy.begin() + known + right + 1);
    for (const int32_t id : wrong_tokens(prompt.greedy[static_cast<size_t>(known + right + 1)],
                                         8 - right, harness_.vocab_size())) {
      tokens.push_back(id);
    }
    const auto rows = harness_.run(0, length + known, tokens, 0);
    for (int32_t i = 0; i <= right; ++i) {
      ASSERT_EQ(argmax(rows[static_cast<size_t>(i)]),
                prompt.greedy[static_cast<size_t>(known + i + 1)]);
    }
    known += right + 1;
  }
  EXPECT_GT(known, 20);
}

TEST_P(ModelState, ReusedSlotGivesTheSameBitsAsAFreshOne) {
  const Prompt& last = prompt_named(golden_, "pattern");
  harness_.run(0, 0, prompt_named(golden_, "long").ids, 64);
  const auto reused = harness_.run(0, 0, last.ids, 7);
  ModelHarness fresh(dir_, "", 3);
  EXPECT_EQ(reused, fresh.run(0, 0, last.ids, 7));
}

TEST_P(ModelState, FreshSequenceReadsNothingThatWasThereBefore) {
  const model::ModelConfig& config = harness_.model().config();
  model::KvCache& cache = harness_.cache();
  const model::KvCacheShape& shape = cache.shape();
  const auto poison = [](float* data, int64_t count) {
    std::fill(data, data + count, std::numeric_limits<float>::quiet_NaN());
  };
  for (int32_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    poison(cache.window(layer), int64_t{shape.num_slots} * cache.window_ring() * config.head_dim);
    if (!config.is_kv_source(layer)) {
      continue;
    }
    const int64_t entries = int64_t{shape.num_blocks} * (shape.block_size / config.ratio(layer));
    poison(cache.entries(layer), entries * config.head_dim);
    poison(cache.index_keys(layer), entries * config.index_head_dim);
    if (config.ratio(layer) > 1) {
      const int64_t open = int64_t{shape.num_slots} * cache.open_ring() * config.head_dim;
      poison(cache.open_values(layer), open);
      poison(cache.open_gates(layer), open);
    }
  }
  for (int32_t slot = 0; slot < shape.num_slots; ++slot) {
    std::fill_n(cache.recent_tokens(slot), cache.token_ring(), 77);
  }
  const Prompt& prompt = prompt_named(golden_, "long");
  const auto rows = harness_.run(1, 0, prompt.ids, 7);
  ModelHarness clean(dir_, "", 3);
  EXPECT_EQ(rows, clean.run(1, 0, prompt.ids, 7));
}

TEST_P(ModelState, ResultDoesNotDependOnTheNumberOfThreads) {
  const Prompt& prompt = prompt_named(golden_, "topk");
  ModelHarness threaded(dir_, "", 3, 3);
  EXPECT_EQ(threaded.run(0, 0, prompt.ids, 64), harness_.run(0, 0, prompt.ids, 64));
}

TEST_P(ModelState, AcceptsNamesWithModelPrefix) {
  const std::filesystem::path copy =
      std::filesystem::temp_directory_path() /
      ("deepinfer_prefix_" + GetParam() + "_" + std::to_string(::getpid()));
  copy_checkpoint(dir_, copy.string(), [](const std::string& name) { return "model." + name; });
  ModelHarness prefixed(copy.string(), "", 3);
  const Prompt& prompt = prompt_named(golden_, "window");
  EXPECT_EQ(prefixed.run(0, 0, prompt.ids, 0), harness_.run(0, 0, prompt.ids, 0));
  std::filesystem::remove_all(copy);
}

TEST_P(ModelState, EmptyStepIsValidAndChangesNothing) {
  const model::ForwardInput nothing;
  EXPECT_TRUE(harness_.model().forward(nothing, harness_.cache(), nullptr).is_ok());
}

TEST_P(ModelState, StepWithoutLogitRowsAdvancesTheState) {
  const Prompt& prompt = prompt_named(golden_, "window");
  model::ForwardInput input;
  input.tokens.assign(prompt.ids.begin(), prompt.ids.end() - 1);
  input.sequences = {harness_.sequence({2, 0, input.tokens})};
  ASSERT_TRUE(harness_.model().forward(input, harness_.cache(), nullptr).is_ok());
  const auto last = static_cast<int32_t>(prompt.ids.size()) - 1;
  const auto logits = harness_.step({{2, last, {prompt.ids.back()}}})[0];
  EXPECT_EQ(harness_.decode(2, last + 1, logits, 32), prompt.greedy);
}

TEST_P(ModelState, RefusesStepsThatDoNotFit) {
  const auto refused = [&](const char* what, auto change) {
    model::ForwardInput input;
    input.tokens = {1, 2, 3, 4};
    input.sequences = {harness_.sequence({0, 0, {1, 2}}), harness_.sequence({1, 5, {3, 4}})};
    input.logit_rows = {1, 3};
    change(input);
    std::vector<float> logits(2 * static_cast<size_t>(harness_.vocab_size()));
    const Status status = harness_.model().forward(input, harness_.cache(), logits.data());
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << what;
    EXPECT_THAT(status.message(), testing::HasSubstr(what));
  };
  using Input = model::ForwardInput;
  refused("slot 3 is not in 0..2", [](Input& in) { in.sequences[0].state_slot = 3; });
  refused("slot -1 is not in", [](Input& in) { in.sequences[0].state_slot = -1; });
  refused("slot 0 is used twice", [](Input& in) { in.sequences[1].state_slot = 0; });
  refused("0 tokens", [](Input& in) { in.sequences[0].num_tokens = 0; });
  refused("from position -1", [](Input& in) { in.sequences[0].start_position = -1; });
  refused("from position 2147483647",
          [](Input& in) { in.sequences[0].start_position = 2147483647; });
  refused("need 1 blocks, got 0", [](Input& in) { in.sequences[0].block_table.clear(); });
  refused("block 192 is not in", [](Input& in) { in.sequences[1].block_table[0] = 192; });
  refused("block -1 is not in", [](Input& in) { in.sequences[1].block_table[0] = -1; });
  refused("5 were given", [](Input& in) { in.tokens.push_back(0); });
  refused("token -1 is not in", [](Input& in) { in.tokens[2] = -1; });
  refused("token 99999 is not in", [](Input& in) { in.tokens[2] = 99999; });
  refused("logit row 4", [](Input& in) { in.logit_rows = {4}; });
  refused("logit row 1 after 3", [](Input& in) { in.logit_rows = {3, 1}; });
  refused("logit row 1 after 1", [](Input& in) { in.logit_rows = {1, 1}; });
}

std::string case_name(const testing::TestParamInfo<std::string>& checkpoint) {
  return checkpoint.param == "tiny-a" ? "tiny_a" : "tiny_b";
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ModelState, testing::Values("tiny-a", "tiny-b"), case_name);

}  // namespace
}  // namespace deepinfer::golden
