#include "model/engram_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/golden/golden_file.h"

namespace deepinfer::model {
namespace {

using testing::HasSubstr;

/// Constants of the released checkpoint (model spec §5.2, §5.3).
constexpr int64_t kFlashStart = 16000000;
constexpr int32_t kFlashVocab = 99092;

TEST(EngramHash, FindsThePrimesOfTheReleasedModel) {
  const auto primes = engram_primes(2, 4, 8, kFlashStart);
  ASSERT_EQ(primes.size(), 2U);
  ASSERT_EQ(primes[0].size(), 24U);
  EXPECT_THAT(std::vector<int64_t>(primes[0].begin(), primes[0].begin() + 3),
              testing::ElementsAre(16000057, 16000079, 16000081));
  EXPECT_THAT(std::vector<int64_t>(primes[1].end() - 3, primes[1].end()),
              testing::ElementsAre(16000877, 16000879, 16000889));
  EXPECT_EQ(std::accumulate(primes[0].begin(), primes[0].end(), int64_t{0}), 384006168);
  EXPECT_EQ(std::accumulate(primes[1].begin(), primes[1].end(), int64_t{0}), 384016682);
}

TEST(EngramHash, DrawsTheMultipliersOfTheReleasedModel) {
  EXPECT_THAT(engram_multipliers(1, 4, kFlashVocab),
              testing::ElementsAre(76632096046245, 4839876093313, 35959672319349, 73987337458391));
  EXPECT_THAT(engram_multipliers(14, 4, kFlashVocab),
              testing::ElementsAre(67716810739261, 51510806800915, 30921347202721, 82619226485591));
}

TEST(EngramHash, EqualsRecordedAddressingOfTheTinyCheckpoints) {
  for (const std::string dir : {"tests/data/tiny-a", "tests/data/tiny-b"}) {
    const golden::File file = golden::load(dir);
    const auto hash = EngramHash::create(*load_model_config(dir), *load_token_map(dir));
    ASSERT_TRUE(hash.has_value()) << hash.error().message();
    EXPECT_EQ(hash->primes(), file.primes);
    EXPECT_EQ(hash->offsets(), file.offsets);
    EXPECT_EQ(hash->multipliers(), file.multipliers);
  }
}

TEST(EngramHash, AddressesTheLastTokenOfEveryPromptAsRecorded) {
  for (const std::string dir : {"tests/data/tiny-a", "tests/data/tiny-b"}) {
    const ModelConfig config = *load_model_config(dir);
    const EngramHash hash = *EngramHash::create(config, *load_token_map(dir));
    for (const golden::Prompt& prompt : golden::load(dir).prompts) {
      std::vector<int32_t> history(static_cast<size_t>(hash.lookback()) + 1, hash.pad());
      for (size_t k = 0; k < std::min(history.size(), prompt.ids.size()); ++k) {
        history[k] = hash.compressed(prompt.ids[prompt.ids.size() - 1 - k]);
      }
      for (const auto& [layer, expected] : prompt.engram_rows) {
        std::vector<int64_t> rows(expected.size());
        hash.rows(config.engram_index(layer), history, rows.data());
        EXPECT_EQ(rows, expected) << dir << " " << prompt.name << " layer " << layer;
      }
    }
  }
}

TEST(EngramHash, RefusesTablesOfAnotherSize) {
  ModelConfig config = *load_model_config("tests/data/tiny-a");
  ++config.engram_num_embeddings[1];
  const auto hash = EngramHash::create(config, *load_token_map("tests/data/tiny-a"));
  ASSERT_FALSE(hash.has_value());
  EXPECT_THAT(hash.error().message(), HasSubstr("layer 4: expected 630 rows"));
  EXPECT_THAT(hash.error().message(), HasSubstr("found 631"));
}

TEST(EngramHash, RefusesTokenizersOfAnotherVocabulary) {
  const ModelConfig config = *load_model_config("tests/data/tiny-a");
  const auto hash = EngramHash::create(config, *load_token_map("tests/data/tiny-b"));
  ASSERT_FALSE(hash.has_value());
  EXPECT_EQ(hash.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(hash.error().message(), HasSubstr("has 265 entries"));
  EXPECT_THAT(hash.error().message(), HasSubstr("engram_compressed_vocab_size is 279"));
}

TEST(EngramHash, TreatsUnknownIdsAsPadding) {
  const auto hash = EngramHash::create(*load_model_config("tests/data/tiny-a"),
                                       *load_token_map("tests/data/tiny-a"));
  EXPECT_EQ(hash->compressed(-1), hash->pad());
  EXPECT_EQ(hash->compressed(1 << 20), hash->pad());
}

}  // namespace
}  // namespace deepinfer::model
