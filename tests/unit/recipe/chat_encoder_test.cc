#include "recipe/chat_encoder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "corpus.h"

namespace deepinfer::recipe {
namespace {

using test::CaseJson;
using test::v41_tokenizer;

using Ids = std::vector<TokenId>;
using Ranges = std::vector<std::pair<size_t, size_t>>;

TEST(Render, AgreesWithTheReferenceOnEveryRecordedConversation) {
  for (const CaseJson& c : test::read_cases("render")) {
    const auto input = test::render_input(c.at("input"));
    const auto prompt = render(input.encoding, input.conversation, input.image_token);
    const auto& expected = c.at("expected");
    EXPECT_EQ(prompt.text, expected.at("prompt").get<std::string>()) << c.at("id");
    EXPECT_EQ(prompt.special_ranges, expected.at("special_ranges").get<Ranges>()) << c.at("id");
    EXPECT_EQ(test::images_json(prompt.images), expected.at("images")) << c.at("id");
  }
}

TEST(Encode, AgreesWithTheReferenceOnEveryRecordedConversation) {
  for (const CaseJson& c : test::read_cases("encode")) {
    const auto input = test::render_input(c.at("input"));
    const auto prompt = render(input.encoding, input.conversation, input.image_token);
    const auto ids = encode(prompt, v41_tokenizer());
    ASSERT_TRUE(ids) << c.at("id") << ids.error().message();
    EXPECT_EQ(*ids, c.at("expected").at("ids").get<Ids>()) << c.at("id");
  }
}

}  // namespace
}  // namespace deepinfer::recipe
