/// Every recorded vector of both tiny checkpoints, in every kernel variant of this machine.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/golden/golden_file.h"
#include "tests/golden/model_harness.h"

namespace deepinfer::golden {
namespace {

/// Largest deviation of a float32 engine from the float64 reference; a wrong model misses it
/// by orders of magnitude. The vector variants only sum in another order, so it is theirs too.
constexpr float kLogitTolerance = 2e-4F;
constexpr int32_t kNumGreedy = 32;
constexpr int32_t kChunkSizes[] = {0, 64, 7, 1};

struct Case {
  std::string checkpoint;
  std::string variant;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& variant : runnable_variants()) {
    all.push_back({"tiny-a", variant});
    all.push_back({"tiny-b", variant});
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.checkpoint + "_" + info.param.variant;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class ModelGolden : public testing::TestWithParam<Case> {
 protected:
  ModelGolden()
      : dir_("tests/data/" + GetParam().checkpoint),
        golden_(load(dir_)),
        harness_(dir_, GetParam().variant, static_cast<int32_t>(golden_.prompts.size())) {}

  static void expect_logits(const Logits& expected, const std::vector<float>& found) {
    std::vector<int32_t> ids(found.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
      return found[static_cast<size_t>(a)] > found[static_cast<size_t>(b)];
    });
    for (size_t i = 0; i < expected.top.size(); ++i) {
      EXPECT_EQ(ids[i], expected.top[i].first) << "rank " << i;
    }
    for (const auto* pairs : {&expected.top, &expected.probes}) {
      for (const auto& [id, value] : *pairs) {
        EXPECT_NEAR(found[static_cast<size_t>(id)], value, kLogitTolerance) << "id " << id;
      }
    }
  }

  /// Greedy continuations of all prompts, from the logits of their last tokens.
  std::vector<std::vector<int32_t>> decode_each(const std::vector<std::vector<float>>& last) {
    std::vector<std::vector<int32_t>> tokens;
    for (size_t i = 0; i < last.size(); ++i) {
      const auto length = static_cast<int32_t>(golden_.prompts[i].ids.size());
      tokens.push_back(harness_.decode(static_cast<int32_t>(i), length, last[i], kNumGreedy));
    }
    return tokens;
  }

  std::vector<std::vector<int32_t>> decode_together(std::vector<std::vector<float>> logits) {
    std::vector<std::vector<int32_t>> tokens(logits.size());
    for (int32_t step = 0; step < kNumGreedy; ++step) {
      std::vector<Piece> pieces;
      for (size_t i = 0; i < logits.size(); ++i) {
        tokens[i].push_back(argmax(logits[i]));
        const auto length = static_cast<int32_t>(golden_.prompts[i].ids.size());
        pieces.push_back({static_cast<int32_t>(i), length + step, {tokens[i].back()}});
      }
      logits = harness_.step(pieces);
    }
    return tokens;
  }

  std::string dir_;
  File golden_;
  ModelHarness harness_;
};

TEST_P(ModelGolden, K03_GivesRecordedLogitsAndTokensForEveryChunkSize) {
  for (const int32_t chunk : kChunkSizes) {
    std::vector<std::vector<float>> last;
    for (size_t i = 0; i < golden_.prompts.size(); ++i) {
      const Prompt& prompt = golden_.prompts[i];
      SCOPED_TRACE(prompt.name + ", chunks of " + std::to_string(chunk));
      const auto rows = harness_.run(static_cast<int32_t>(i), 0, prompt.ids, chunk);
      for (const Logits& logits : prompt.logits) {
        SCOPED_TRACE("position " + std::to_string(logits.position));
        expect_logits(logits, rows[static_cast<size_t>(logits.position)]);
      }
      last.push_back(rows.back());
    }
    // Alone after whole prompts, together after the others.
    const auto tokens = chunk == 0 ? decode_each(last) : decode_together(last);
    for (size_t i = 0; i < golden_.prompts.size(); ++i) {
      EXPECT_EQ(tokens[i], golden_.prompts[i].greedy)
          << golden_.prompts[i].name << ", chunks of " << chunk;
    }
  }
}

TEST_P(ModelGolden, GivesRecordedTokensInOneMixedBatch) {
  struct Running {
    std::vector<int32_t> known;  // prompt, then what was generated
    int32_t done = 0;
  };
  constexpr int32_t kPieces[] = {5, 1, 13, 32, 3, 21};
  std::vector<Running> running;
  for (const Prompt& prompt : golden_.prompts) {
    running.push_back({prompt.ids, 0});
  }
  size_t finished = 0;
  for (size_t round = 0; finished < running.size(); ++round) {
    std::vector<Piece> pieces;
    for (size_t i = 0; i < running.size(); ++i) {
      Running& sequence = running[i];
      const size_t wanted = golden_.prompts[i].ids.size() + golden_.prompts[i].greedy.size();
      // Sequences join one after the other, so that prompts meet decodes of all ages.
      if (round < i || sequence.known.size() >= wanted) {
        continue;
      }
      const auto left = static_cast<int32_t>(sequence.known.size()) - sequence.done;
      const int32_t count = std::min(left, kPieces[(round + i) % std::size(kPieces)]);
      const auto begin = sequence.known.begin() + sequence.done;
      pieces.push_back({static_cast<int32_t>(i), sequence.done, {begin, begin + count}});
    }
    const auto logits = harness_.step(pieces);
    for (size_t i = 0; i < pieces.size(); ++i) {
      Running& sequence = running[static_cast<size_t>(pieces[i].slot)];
      const Prompt& prompt = golden_.prompts[static_cast<size_t>(pieces[i].slot)];
      sequence.done += static_cast<int32_t>(pieces[i].tokens.size());
      for (const Logits& expected : prompt.logits) {
        if (expected.position == sequence.done - 1) {
          SCOPED_TRACE(prompt.name + " at " + std::to_string(expected.position));
          expect_logits(expected, logits[i]);
        }
      }
      if (sequence.done == static_cast<int32_t>(sequence.known.size())) {
        sequence.known.push_back(argmax(logits[i]));
      }
      finished += sequence.known.size() == prompt.ids.size() + prompt.greedy.size() ? 1U : 0U;
    }
  }
  for (size_t i = 0; i < running.size(); ++i) {
    const Prompt& prompt = golden_.prompts[i];
    const auto generated = running[i].known.begin() + static_cast<int64_t>(prompt.ids.size());
    EXPECT_EQ(std::vector<int32_t>(generated, running[i].known.end()), prompt.greedy)
        << prompt.name;
  }
}

TEST_P(ModelGolden, RoutesSelectsAndAddressesAsRecorded) {
  const model::ModelConfig& config = harness_.model().config();
  for (const Prompt& prompt : golden_.prompts) {
    for (const int32_t chunk : {0, 7}) {
      SCOPED_TRACE(prompt.name + ", chunks of " + std::to_string(chunk));
      RecordingObserver seen(config.num_experts_per_tok);
      harness_.model().set_observer(&seen);
      harness_.run(0, 0, prompt.ids, chunk);
      harness_.model().set_observer(nullptr);
      for (const auto& [layer, rows] : prompt.experts) {
        for (const Experts& row : rows) {
          const auto position = static_cast<size_t>(row.position);
          EXPECT_EQ(seen.expert_ids[layer][position], row.ids) << "layer " << layer;
          for (size_t k = 0; k < row.weights.size(); ++k) {
            EXPECT_NEAR(seen.expert_weights[layer][position][k], row.weights[k], 1e-4F);
          }
        }
      }
      for (const auto& [layer, entries] : prompt.index_selected) {
        EXPECT_EQ(seen.selected[layer].back(), entries) << "layer " << layer;
      }
      for (const auto& [layer, rows] : prompt.engram_rows) {
        const std::vector<int64_t>& found = seen.engram_rows[layer];
        ASSERT_GE(found.size(), rows.size());
        EXPECT_EQ(
            std::vector<int64_t>(found.end() - static_cast<int64_t>(rows.size()), found.end()),
            rows)
            << "layer " << layer;
      }
    }
  }
}

TEST_P(ModelGolden, KeepsRecordedStreamsAfterEveryLayer) {
  const model::ModelConfig& config = harness_.model().config();
  const auto width = static_cast<size_t>(config.hidden_size);
  const auto all = width * static_cast<size_t>(config.hc_mult);
  for (const Prompt& prompt : golden_.prompts) {
    RecordingObserver seen(config.num_experts_per_tok);
    harness_.model().set_observer(&seen);
    harness_.run(0, 0, prompt.ids, 0);
    harness_.model().set_observer(nullptr);
    for (const auto& [layer, expected] : prompt.streams) {
      SCOPED_TRACE(prompt.name + ", layer " + std::to_string(layer));
      const std::vector<float>& streams = seen.streams[layer];
      const std::vector<float> last(streams.end() - static_cast<int64_t>(all), streams.end());
      const double squares = std::inner_product(last.begin(), last.end(), last.begin(), 0.0);
      EXPECT_NEAR(std::sqrt(squares / static_cast<double>(all)), expected.rms, 1e-4);
      for (size_t i = 0; i < expected.first.size(); ++i) {
        EXPECT_NEAR(last[i], expected.first[i], 1e-4F);
        EXPECT_NEAR(last[all - width + i], expected.last[i], 1e-4F);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ModelGolden, testing::ValuesIn(cases()), case_name);

}  // namespace
}  // namespace deepinfer::golden
