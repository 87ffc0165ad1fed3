#include "protocol/responses/custom_input.h"

#include <charconv>
#include <cstdint>
#include <utility>

#include "recipe/utf8.h"

namespace deepinfer::protocol {
namespace {

constexpr std::string_view kBeginning = R"({"input": ")";

struct ShortEscape {
  char letter;
  char meaning;
};
constexpr ShortEscape kShortEscapes[] = {
    {'b', '\b'}, {'f', '\f'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'},
};

/// `\u00xx`: only control characters are written so.
std::string unicode_escape(std::string_view digits) {
  uint32_t code = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  return code < 0x80 ? std::string(1, static_cast<char>(code))
                     : std::string(recipe::kReplacementCharacter);
}

}  // namespace

std::string CustomInput::push(std::string_view arguments) {
  std::string out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    switch (state_) {
      case State::kBefore:
        held_ += arguments[i];
        if (held_ == kBeginning) {
          state_ = State::kText;
          held_.clear();
        } else if (kBeginning.substr(0, held_.size()) != held_) {
          state_ = State::kAsItStands;
          out = std::exchange(held_, {});
        }
        break;
      case State::kText:
        take_text(arguments[i], out);
        break;
      case State::kAfter:
        return out;
      case State::kAsItStands:
        out += arguments.substr(i);
        return out;
    }
  }
  return out;
}

void CustomInput::take_text(char c, std::string& out) {
  if (held_.empty()) {
    if (c == '"') {
      state_ = State::kAfter;
    } else if (c == '\\') {
      held_ = c;
    } else {
      out += c;
    }
    return;
  }
  held_ += c;
  if (held_[1] == 'u') {
    constexpr size_t kLength = 6;
    if (held_.size() == kLength) {
      out += unicode_escape(std::string_view(held_).substr(2));
      held_.clear();
    }
    return;
  }
  char meaning = c;
  for (const ShortEscape& escape : kShortEscapes) {
    meaning = escape.letter == c ? escape.meaning : meaning;
  }
  out += meaning;
  held_.clear();
}

std::string CustomInput::finish() {
  return state_ == State::kBefore ? std::exchange(held_, {}) : std::string();
}

}  // namespace deepinfer::protocol
