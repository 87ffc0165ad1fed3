#include "recipe/stop_matcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace deepinfer::recipe {
namespace {

/// (pattern, end) of the first match, by walking the automaton.
std::optional<std::pair<int32_t, size_t>> first_match(const StopMatcher& matcher,
                                                      const std::string& text) {
  int32_t node = StopMatcher::kStart;
  for (size_t i = 0; i < text.size(); ++i) {
    const int32_t match = matcher.step(node, static_cast<uint8_t>(text[i]));
    if (match != StopMatcher::kNoMatch) {
      return std::pair(match, i + 1);
    }
  }
  return std::nullopt;
}

/// The same by looking at every end of the text.
std::optional<std::pair<int32_t, size_t>> first_match_plainly(
    const std::vector<std::string>& patterns, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (end >= patterns[i].size() &&
          text.compare(end - patterns[i].size(), patterns[i].size(), patterns[i]) == 0) {
        return std::pair(static_cast<int32_t>(i), end);
      }
    }
  }
  return std::nullopt;
}

TEST(StopMatcher, FindsTheMatchThatCompletesFirst) {
  const StopMatcher matcher({"abcd", "bc"});
  EXPECT_EQ(first_match(matcher, "xabcd"), (std::pair<int32_t, size_t>(1, 4)));
}

TEST(StopMatcher, PrefersTheEarlierPatternAmongThoseThatCompleteTogether) {
  EXPECT_EQ(first_match(StopMatcher({"c", "abc"}), "abc")->first, 0);
  EXPECT_EQ(first_match(StopMatcher({"abc", "c"}), "abc")->first, 0);
}

TEST(StopMatcher, HoldsExactlyWhatCouldBecomeAMatch) {
  const StopMatcher matcher({"aab"});
  int32_t node = StopMatcher::kStart;
  const std::vector<size_t> held = {1, 2, 2, 0};
  const std::string text = "aaax";
  for (size_t i = 0; i < text.size(); ++i) {
    matcher.step(node, static_cast<uint8_t>(text[i]));
    EXPECT_EQ(matcher.held(node), held[i]);
  }
}

TEST(StopMatcher, AgreesWithPlainSearchOnRandomTexts) {
  std::mt19937 random(1);
  const auto letters = [&](size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) {
      text += "ab\n"[random() % 3];
    }
    return text;
  };
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> patterns;
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      patterns.push_back(letters(1 + random() % 5));
    }
    const std::string text = letters(12);
    ASSERT_EQ(first_match(StopMatcher(patterns), text), first_match_plainly(patterns, text));
  }
}

TEST(StopMatcher, StaysLinearOnRepetitivePatterns) {
  std::string stop(200000, 'a');
  stop.push_back('b');
  const StopMatcher matcher({stop});
  int32_t node = StopMatcher::kStart;
  for (int i = 0; i < 2000000; ++i) {
    ASSERT_EQ(matcher.step(node, 'a'), StopMatcher::kNoMatch);
  }
  EXPECT_EQ(matcher.held(node), 200000U);
}

}  // namespace
}  // namespace deepinfer::recipe
