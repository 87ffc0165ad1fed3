#include "constraint/pattern_check.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace deepinfer::constraint {
namespace {

constexpr size_t kMaxDepth = 64;
/// Elements once every repetition is written out.
constexpr int64_t kMaxElements = 2048;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads an expression once, from left to right, and counts its elements; a repetition multiplies
/// what stands before it.
class Reader {
 public:
  Reader(std::string_view text, bool is_grammar) : text_(text), is_grammar_(is_grammar) {}

  Status run() {
    while (at_ < text_.size()) {
      DI_TRY(next());
    }
    return Status::ok();
  }

 private:
  Status next() {
    const char c = text_[at_++];
    switch (c) {
      case '\\':
        ++at_;
        return element(1);
      case '[':
        skip_class();
        return element(1);
      case '(':
        if (counts_.size() > kMaxDepth) {
          return invalid_argument(fmt::format("groups are nested more than {} deep", kMaxDepth));
        }
        counts_.push_back(0);
        return Status::ok();
      case ')': {
        const int64_t count = std::max<int64_t>(1, counts_.back());
        if (counts_.size() > 1) {
          counts_.pop_back();
        }
        return element(count);
      }
      case '{':
        return repetition();
      default:
        return is_grammar_ ? grammar_character(c) : element(1);
    }
  }

  Status grammar_character(char c) {
    if (c == '"') {
      skip_literal();
      return element(1);
    }
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    }
    last_ = 1;  // the name of a rule, whose elements are shared by all who refer to it
    return Status::ok();
  }

  void skip_class() {
    while (at_ < text_.size() && text_[at_] != ']') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    ++at_;
  }

  void skip_literal() {
    while (at_ < text_.size() && text_[at_] != '"') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    ++at_;
  }

  Status repetition() {
    int64_t most = 0;
    int64_t number = 0;
    for (; at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == ','); ++at_) {
      number = text_[at_] == ',' ? 0 : std::min(number * 10 + (text_[at_] - '0'), 2 * kMaxElements);
      most = std::max(most, number);
    }
    const int64_t copies = std::max<int64_t>(1, most);
    const int64_t repeated = last_;
    DI_TRY(element(repeated * (copies - 1)));
    last_ = repeated * copies;
    return Status::ok();
  }

  Status element(int64_t count) {
    last_ = count;
    counts_.back() += count;
    if (counts_.back() > kMaxElements) {
      return invalid_argument(
          fmt::format("written out, its repetitions are more than {} elements", kMaxElements));
    }
    return Status::ok();
  }

  const std::string_view text_;
  const bool is_grammar_;
  size_t at_ = 0;
  int64_t last_ = 1;
  /// Elements so far: of the whole, then of each open group.
  std::vector<int64_t> counts_ = {0};
};

Status check(std::string_view text, size_t max_bytes, bool is_grammar) {
  if (text.size() > max_bytes) {
    return invalid_argument(
        fmt::format("it has {} bytes; at most {} are accepted", text.size(), max_bytes));
  }
  if (text.find('\0') != std::string_view::npos) {
    return invalid_argument("it holds a NUL character");
  }
  return Reader(text, is_grammar).run();
}

}  // namespace

Status check_pattern(std::string_view pattern, size_t max_bytes) {
  return check(pattern, max_bytes, false);
}

Status check_grammar_text(std::string_view grammar, size_t max_bytes) {
  return check(grammar, max_bytes, true);
}

}  // namespace deepinfer::constraint
