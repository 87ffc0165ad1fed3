#pragma once

/// A small vocabulary and ways to walk through a constraint.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "constraint/constraint.h"

namespace deepinfer::constraint::testing {

inline constexpr TokenId kMarker = 256;
inline constexpr TokenId kThinkEnd = 257;
inline constexpr TokenId kEos = 258;
inline constexpr TokenId kOpensString = 259;    // `{"`
inline constexpr TokenId kSpelledMarker = 260;  // the marker's spelling as ordinary text
inline constexpr std::string_view kSpelling =
    "\xEF\xBD\x9C"
    "DSML"
    "\xEF\xBD\x9C";

/// One token per byte, then control tokens, then two longer ones.
inline Vocabulary small_vocabulary() {
  Vocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  vocabulary.tokens.insert(vocabulary.tokens.end(), {"", "", "", "{\"", std::string(kSpelling)});
  vocabulary.stop_tokens = {kEos};
  return vocabulary;
}

inline ConstraintCompiler& small_compiler() {
  static ConstraintCompiler compiler(small_vocabulary(), CompilerOptions{});
  return compiler;
}

inline std::vector<TokenId> bytes_of(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char c : text) {
    tokens.push_back(static_cast<unsigned char>(c));
  }
  return tokens;
}

/// Tokens of `text`; `~` stands for the marker.
inline std::vector<TokenId> markup(std::string_view text) {
  std::vector<TokenId> tokens = bytes_of(text);
  for (TokenId& token : tokens) {
    token = token == '~' ? kMarker : token;
  }
  return tokens;
}

inline bool allows(ConstraintState& state, TokenId token) {
  std::vector<uint32_t> mask(state.mask_words());
  const auto limited = state.fill_mask(mask);
  EXPECT_TRUE(limited.has_value());
  const auto at = static_cast<size_t>(token);
  return !*limited || (mask[at / 32] >> (at % 32) & 1U) != 0;
}

/// Tokens taken before the first that was not, which the mask must have forbidden.
inline size_t walk(ConstraintState& state, const std::vector<TokenId>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool allowed = state.waiting() || allows(state, tokens[i]);
    const bool taken = state.accept(tokens[i]);
    EXPECT_EQ(allowed, taken) << "token " << tokens[i] << " at " << i;
    if (!taken) {
      return i;
    }
  }
  return tokens.size();
}

inline CompiledConstraint compiled(const ConstraintSpec& spec) {
  auto result = small_compiler().compile(spec);
  EXPECT_TRUE(result.has_value()) << result.error().message();
  return *std::move(result);
}

inline ConstraintSpec schema_spec(std::string schema) {
  return {.kind = ConstraintSpec::Kind::kJsonSchema, .text = std::move(schema), .param = "schema"};
}

/// The output is complete, and then nothing but the end may come.
inline bool matches(const ConstraintSpec& spec, const std::vector<TokenId>& tokens) {
  ConstraintState state(compiled(spec));
  return walk(state, tokens) == tokens.size() && state.may_end() && allows(state, kEos) &&
         state.accept(kEos) && state.ended();
}
inline bool matches(const ConstraintSpec& spec, std::string_view text) {
  return matches(spec, bytes_of(text));
}

/// What a model writes that prefers `white` to everything, then the end, then the smallest
/// printable byte, until it may end or has written 400 tokens.
inline std::string written_by_a_lover_of(char white, ConstraintState& state) {
  std::vector<TokenId> wishes = {static_cast<TokenId>(white), kEos, '}', ']', '"', kMarker};
  for (TokenId byte = '!'; byte < 127; ++byte) {
    wishes.push_back(byte);
  }
  wishes.insert(wishes.end(), {' ', '\n'});  // where nothing else may come
  std::string output;
  while (!state.ended() && output.size() < 400) {
    const auto wish = std::find_if(wishes.begin(), wishes.end(),
                                   [&](TokenId token) { return allows(state, token); });
    if (wish == wishes.end() || !state.accept(*wish)) {
      ADD_FAILURE() << "nothing may come behind " << output;
      break;
    }
    output += *wish == kMarker ? '~' : static_cast<char>(*wish == kEos ? '$' : *wish);
  }
  return output;
}

inline size_t longest_run(std::string_view text, char of) {
  size_t longest = 0;
  size_t run = 0;
  for (const char c : text) {
    run = c == of ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

inline std::string refusal(const ConstraintSpec& spec) {
  const auto result = small_compiler().compile(spec);
  return result ? "" : result.error().message();
}

}  // namespace deepinfer::constraint::testing
