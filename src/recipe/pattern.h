#pragma once

/// Regular expressions of a tokenizer file. The one corner that knows PCRE2.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::recipe {

/// A compiled expression (Unicode-aware, JIT where the machine allows it). Immutable;
/// thread-safe. Matching goes through a `PatternMatcher`.
class Pattern {
 public:
  /// kFailedPrecondition with the place of the mistake if `expression` does not compile.
  static Result<Pattern> compile(const std::string& expression);
  /// A pattern that finds exactly `text`.
  static Result<Pattern> literal(const std::string& text);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

 private:
  friend class PatternMatcher;
  struct Code;
  explicit Pattern(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

/// Working memory for matching; any pattern, one thread.
class PatternMatcher {
 public:
  PatternMatcher();
  ~PatternMatcher();
  PatternMatcher(const PatternMatcher&) = delete;
  PatternMatcher& operator=(const PatternMatcher&) = delete;

  struct Match {
    size_t begin = 0;
    size_t end = 0;
  };

  /// The first match in `subject` at or after `start`. `subject` must be valid UTF-8 and
  /// `start` a character border. A search that exceeds the effort limits of one match finds
  /// nothing, so that no pattern and no text can hang or crash the caller.
  std::optional<Match> find(const Pattern& pattern, std::string_view subject, size_t start);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace deepinfer::recipe
