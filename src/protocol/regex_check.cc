// Syntax of ECMA-262 regular expressions: one pass, no recursion, nothing is compiled.

#include <string_view>
#include <vector>

#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

constexpr size_t kMaxPatternBytes = 64 * 1024;
constexpr size_t kMaxGroups = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class RegexReader {
 public:
  explicit RegexReader(std::string_view pattern) : text_(pattern) {}

  std::optional<std::string> read() {
    if (text_.size() > kMaxPatternBytes) {
      return "longer than " + std::to_string(kMaxPatternBytes) + " bytes";
    }
    while (at_ < text_.size() && problem_.empty()) {
      read_one();
    }
    if (problem_.empty() && !groups_.empty()) {
      problem_ = "a group is not closed";
    }
    return problem_.empty() ? std::nullopt : std::optional(problem_);
  }

 private:
  void read_one() {
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '[':
        read_class();
        repeatable_ = true;
        return;
      case '|':
      case '^':
      case '$':
        repeatable_ = false;
        return;
      case '*':
      case '+':
      case '?':
        return quantifier();
      case '{':
        return braces();
      case '\\':
        return escape();
      default:
        repeatable_ = true;
    }
  }

  void open_group() {
    bool lookaround = false;
    if (accept("?")) {
      if (accept(":")) {
      } else if (accept("=") || accept("!") || accept("<=") || accept("<!")) {
        lookaround = true;
      } else if (accept("<") || accept("P<")) {
        read_group_name();
      } else {
        problem_ = "unknown kind of group";
      }
    }
    if (groups_.size() >= kMaxGroups) {
      problem_ = "groups nested deeper than " + std::to_string(kMaxGroups);
    }
    groups_.push_back(lookaround);
    repeatable_ = false;
  }

  void read_group_name() {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '>') {
      ++at_;
    }
    if (at_ == text_.size() || at_ == begin) {
      problem_ = "bad group name";
      return;
    }
    ++at_;
  }

  void close_group() {
    if (groups_.empty()) {
      problem_ = "a group is closed that was not opened";
      return;
    }
    repeatable_ = !groups_.back();
    groups_.pop_back();
  }

  void quantifier() {
    if (!repeatable_) {
      problem_ = "nothing to repeat";
      return;
    }
    accept("?");
    repeatable_ = false;
  }

  /// `{n}`, `{n,}` or `{n,m}`; anything else is a literal brace.
  void braces() {
    size_t i = at_;
    const auto number = [&](std::string& digits) {
      while (i < text_.size() && is_digit(text_[i])) {
        digits += text_[i++];
      }
    };
    std::string low;
    std::string high;
    number(low);
    const bool range = i < text_.size() && text_[i] == ',';
    if (range) {
      ++i;
      number(high);
    }
    if (low.empty() || i >= text_.size() || text_[i] != '}') {
      repeatable_ = true;
      return;
    }
    at_ = i + 1;
    if (low.size() > 9 || high.size() > 9) {
      problem_ = "repetition count too large";
    } else if (!high.empty() && std::stoul(low) > std::stoul(high)) {
      problem_ = "repetition range out of order";
    } else {
      quantifier();
    }
  }

  void escape() {
    if (at_ == text_.size()) {
      problem_ = "ends in a backslash";
      return;
    }
    const char c = text_[at_++];
    if (c == 'b' || c == 'B') {
      repeatable_ = false;
      return;
    }
    repeatable_ = true;
    if (c == 'x') {
      hex_digits(2);
    } else if (c == 'u' && !accept("{")) {
      hex_digits(4);
    } else if ((c == 'u' && text_[at_ - 1] == '{') || ((c == 'p' || c == 'P') && accept("{"))) {
      const size_t close = text_.find('}', at_);
      if (close == std::string_view::npos || close == at_) {
        problem_ = "bad escape";
        return;
      }
      at_ = close + 1;
    }
  }

  void hex_digits(size_t n) {
    for (size_t i = 0; i < n; ++i) {
      if (at_ + i >= text_.size() || !is_hex(text_[at_ + i])) {
        problem_ = "bad escape";
        return;
      }
    }
    at_ += n;
  }

  void read_class() {
    accept("^");
    while (at_ < text_.size() && problem_.empty()) {
      const char c = text_[at_++];
      if (c == ']') {
        return;  // also at once: an empty class is legal
      }
      if (c == '\\') {
        escape();
      }
    }
    if (problem_.empty()) {
      problem_ = "a character class is not closed";
    }
  }

  bool accept(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) {
      return false;
    }
    at_ += token.size();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool repeatable_ = false;
  /// Open groups; true for those that assert and cannot be repeated.
  std::vector<bool> groups_;
  std::string problem_;
};

}  // namespace

std::optional<std::string> regex_problem(std::string_view pattern) {
  return RegexReader(pattern).read();
}

}  // namespace deepinfer::protocol
