#include "recipe/json_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace deepinfer::recipe {
namespace {

char short_escape(char c) {
  switch (c) {
    case '"':
      return '"';
    case '\\':
      return '\\';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

template <typename Int>
void append_integer(Int value, std::string& out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out.append(text, end);
}

/// Shortest round-trip digits; fixed or exponent form by the style's thresholds.
void append_float(double value, JsonStyle style, std::string& out) {
  const double size = std::fabs(value);
  const double smallest_fixed = style == JsonStyle::kSpacedV41 ? 1e-4 : 1e-5;
  char text[64];
  if (size == 0.0 || (size >= smallest_fixed && size < 1e16)) {
    const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed).ptr;
    out.append(text, end);
    if (value == std::floor(value)) {
      out += ".0";
    }
    return;
  }
  const auto end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific).ptr;
  std::string_view digits(text, static_cast<size_t>(end - text));
  // to_chars writes at least two exponent digits; only V4.1 keeps a leading zero.
  const size_t e = digits.find('e');
  out += digits.substr(0, e + 2);
  digits.remove_prefix(e + 2);
  if (style != JsonStyle::kSpacedV41 && digits.size() > 1 && digits.front() == '0') {
    digits.remove_prefix(1);
  }
  out += digits;
}

template <typename Container, typename Append>
void append_list(char open, char close, const Container& items, JsonStyle style, std::string& out,
                 const Append& append) {
  out += open;
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      out += style == JsonStyle::kCompact ? "," : ", ";
    }
    first = false;
    append(item);
  }
  out += close;
}

}  // namespace

void append_json_escaped(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  size_t plain = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\') {
      continue;
    }
    out.append(text, plain, i - plain);
    plain = i + 1;
    out += '\\';
    if (const char escape = short_escape(c); escape != 0) {
      out += escape;
    } else {
      out += "u00";
      out += kHex[static_cast<uint8_t>(c) >> 4];
      out += kHex[static_cast<uint8_t>(c) & 15];
    }
  }
  out.append(text, plain, text.size() - plain);
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_escaped(text, out);
  out += '"';
}

void append_json(const Json& value, JsonStyle style, std::string& out) {
  switch (value.type()) {
    case Json::value_t::object:
      append_list('{', '}', value.get_ref<const Json::object_t&>(), style, out,
                  [&](const auto& member) {
                    append_json_string(member.first, out);
                    out += style == JsonStyle::kCompact ? ":" : ": ";
                    append_json(member.second, style, out);
                  });
      return;
    case Json::value_t::array:
      append_list('[', ']', value.get_ref<const Json::array_t&>(), style, out,
                  [&](const Json& item) { append_json(item, style, out); });
      return;
    case Json::value_t::string:
      append_json_string(value.get_ref<const std::string&>(), out);
      return;
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return;
    case Json::value_t::number_integer:
      append_integer(value.get<int64_t>(), out);
      return;
    case Json::value_t::number_unsigned:
      append_integer(value.get<uint64_t>(), out);
      return;
    case Json::value_t::number_float:
      append_float(value.get<double>(), style, out);
      return;
    default:
      out += "null";
      return;
  }
}

}  // namespace deepinfer::recipe
