#include "kernels/select.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace deepinfer::kernels {
namespace {

TEST(SelectCpuOps, ReferenceFillsEverySlot) {
  const auto selected = select_cpu_ops("reference");
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->variant, "reference");
  EXPECT_EQ(selected->origin.size(), sizeof(OpTable) / sizeof(void (*)()));
  for (const auto& [op, variant] : selected->origin) {
    EXPECT_EQ(variant, "reference") << op;
  }
}

TEST(SelectCpuOps, OverlaysUpToTheForcedVariant) {
  for (const Variant& variant : cpu_variants()) {
    const auto selected = select_cpu_ops(variant.name);
    if (!variant.supported) {
      ASSERT_FALSE(selected);
      EXPECT_EQ(selected.error().code(), StatusCode::kInvalidArgument);
      EXPECT_NE(selected.error().message().find(variant.missing), std::string::npos);
      continue;
    }
    ASSERT_TRUE(selected);
    EXPECT_EQ(selected->variant, variant.name);
    const auto linear = std::find_if(selected->origin.begin(), selected->origin.end(),
                                     [](const auto& slot) { return slot.first == "linear"; });
    ASSERT_NE(linear, selected->origin.end());
    EXPECT_EQ(linear->second, variant.name);
  }
}

TEST(SelectCpuOps, DefaultIsTheFastestSupportedVariant) {
  std::string_view fastest;
  for (const Variant& variant : cpu_variants()) {
    fastest = variant.supported ? variant.name : fastest;
  }
  const auto selected = select_cpu_ops("");
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->variant, fastest);
}

TEST(SelectCpuOps, NamesTheKnownVariantsWhenAskedForAnother) {
  const auto selected = select_cpu_ops("sse9");
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(selected.error().message().find("reference"), std::string::npos);
  EXPECT_NE(selected.error().message().find("sse9"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::kernels
