#include "model/kv_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

using testing::HasSubstr;

ModelConfig tiny() {
  return *parse_model_config(tiny_config().dump());
}

TEST(KvCache, HoldsWhatItsFormulasSay) {
  const auto device = *device::make_cpu_device("reference", 1);
  const ModelConfig config = tiny();
  const KvCacheShape shape = {.num_blocks = 5, .block_size = 16, .num_slots = 3, .max_rollback = 4};
  const auto cache = KvCache::create(config, shape, *device);
  ASSERT_TRUE(cache.has_value()) << cache.error().message();
  EXPECT_EQ((*cache)->window_ring(), 8 + 4);
  EXPECT_EQ((*cache)->open_ring(), 2 + 4);
  EXPECT_EQ((*cache)->token_ring(), 3 + 4);
  EXPECT_EQ((*cache)->bytes(),
            5 * kv_bytes_per_block(config, 16) + 3 * kv_bytes_per_slot(config, 4));
  // Source 2 has 8 entries a block, source 4 has 16; each 32 + 32 channels.
  EXPECT_EQ(kv_bytes_per_block(config, 16), (8 + 16) * 64 * 4);
  EXPECT_EQ(kv_bytes_per_slot(config, 4), 6 * 12 * 32 * 4 + 2 * 6 * 32 * 4 + 7 * 4);
}

TEST(KvCache, RefusesShapesThatDoNotFitTheModel) {
  const auto device = *device::make_cpu_device("reference", 1);
  const auto error = [&](KvCacheShape shape) {
    const auto cache = KvCache::create(tiny(), shape, *device);
    return cache.has_value() ? std::string("no error") : cache.error().message();
  };
  EXPECT_THAT(error({.num_blocks = 1, .block_size = 15, .num_slots = 1}),
              HasSubstr("a multiple of 2, got 15"));
  EXPECT_NE(error({.num_blocks = 1, .block_size = 0, .num_slots = 1}), "no error");
  EXPECT_NE(error({.num_blocks = 1, .block_size = 16, .num_slots = 0}), "no error");
  EXPECT_NE(error({.num_blocks = -1, .block_size = 16, .num_slots = 1}), "no error");
  EXPECT_NE(error({.num_blocks = 1, .block_size = 16, .num_slots = 1, .max_rollback = -1}),
            "no error");
}

TEST(KvCache, SaysHowMuchMemoryIsMissing) {
  const auto device = *device::make_cpu_device("reference", 1);
  const auto cache = KvCache::create(
      tiny(), {.num_blocks = 2000000000, .block_size = 64, .num_slots = 1}, *device);
  ASSERT_FALSE(cache.has_value());
  EXPECT_EQ(cache.error().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace deepinfer::model
