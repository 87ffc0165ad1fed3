#define PCRE2_CODE_UNIT_WIDTH 8

#include "recipe/pattern.h"

#include <pcre2.h>

#include <array>
#include <utility>

#include "base/check.h"

namespace deepinfer::recipe {
namespace {

/// Effort of one match: far beyond what splitting a megabyte into words takes.
constexpr uint32_t kMatchLimit = 20'000'000;
constexpr uint32_t kDepthLimit = 1'000'000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;

/// What `\s` means to the library that tokenizer files are written for: Unicode's White_Space.
/// PCRE2's own also takes U+180E.
constexpr std::string_view kWhiteSpace =
    R"(\x09-\x0d\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// `expression` with `\s` and `\S` spelled out, inside and outside of character classes. (`\S`
/// inside a class stays: it has no spelling there.)
std::string with_unicode_white_space(std::string_view expression) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c != '\\' || i + 1 == expression.size()) {
      if (c == '[') in_class = true;
      if (c == ']') in_class = false;
      out.push_back(c);
      continue;
    }
    const char escaped = expression[++i];
    if (escaped == 's') {
      out.append(in_class ? "" : "[").append(kWhiteSpace).append(in_class ? "" : "]");
    } else if (escaped == 'S' && !in_class) {
      out.append("[^").append(kWhiteSpace).append("]");
    } else {
      out.append({c, escaped});
    }
  }
  return out;
}

PCRE2_SPTR as_subject(std::string_view text) {
  // PCRE2 refuses a null subject even of length 0.
  return reinterpret_cast<PCRE2_SPTR>(text.data() == nullptr ? "" : text.data());
}

std::string error_text(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

}  // namespace

struct Pattern::Code {
  explicit Code(pcre2_code* compiled) : handle(compiled) {}
  ~Code() { pcre2_code_free(handle); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  pcre2_code* handle;
};

Pattern::Pattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

namespace {

Result<pcre2_code*> compile_code(const std::string& expression, uint32_t options) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code =
      pcre2_compile(as_subject(expression), expression.size(), options, &error, &offset, nullptr);
  if (code == nullptr) {
    return failed_precondition("expected a regular expression, got one with an error at byte " +
                               std::to_string(offset) + ": " + error_text(error));
  }
  // Without JIT (a hardened kernel) matching falls back to the interpreter by itself.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return code;
}

}  // namespace

Result<Pattern> Pattern::compile(const std::string& expression) {
  DI_ASSIGN(pcre2_code * code,
            compile_code(with_unicode_white_space(expression), PCRE2_UTF | PCRE2_UCP));
  return Pattern(std::make_unique<Code>(code));
}

Result<Pattern> Pattern::literal(const std::string& text) {
  DI_ASSIGN(pcre2_code * code, compile_code(text, PCRE2_UTF | PCRE2_LITERAL));
  return Pattern(std::make_unique<Code>(code));
}

struct PatternMatcher::Memory {
  Memory()
      : data(pcre2_match_data_create(1, nullptr)), limits(pcre2_match_context_create(nullptr)) {
    DI_CHECK(data != nullptr && limits != nullptr);
    pcre2_set_match_limit(limits, kMatchLimit);
    pcre2_set_depth_limit(limits, kDepthLimit);
    pcre2_set_heap_limit(limits, kHeapLimitKib);
  }
  ~Memory() {
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int match(const pcre2_code* code, std::string_view subject, size_t start, uint32_t options) {
    return pcre2_match(code, as_subject(subject), subject.size(), start,
                       PCRE2_NO_UTF_CHECK | options, data, limits);
  }

  pcre2_match_data* data;
  pcre2_match_context* limits;
};

PatternMatcher::PatternMatcher() : memory_(std::make_unique<Memory>()) {}
PatternMatcher::~PatternMatcher() = default;

std::optional<PatternMatcher::Match> PatternMatcher::find(const Pattern& pattern,
                                                          std::string_view subject, size_t start) {
  const pcre2_code* code = pattern.code_->handle;
  int found = memory_->match(code, subject, start, 0);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
    found = memory_->match(code, subject, start, PCRE2_NO_JIT);
  }
  // The vector has one pair of offsets, so captures beyond it (result 0) do not matter.
  if (found < 0) return std::nullopt;
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(memory_->data);
  // \K in a lookahead can put the begin behind the end; such a match has no extent.
  if (offsets[0] > offsets[1] || offsets[0] < start) return std::nullopt;
  return Match{.begin = offsets[0], .end = offsets[1]};
}

}  // namespace deepinfer::recipe
