#include "recipe/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace deepinfer::recipe {
namespace {

/// What a first byte promises: the sequence's length and the range of its second byte.
struct Lead {
  size_t length = 0;
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

/// Source: the Unicode standard, table 3-7 (well-formed UTF-8 byte sequences).
Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.length = 3, .second_max = 0x9F};
  if (byte < 0xF0) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .second_max = 0x8F};
  return {};
}

uint8_t byte_at(std::string_view bytes, size_t i) {
  return static_cast<uint8_t>(bytes[i]);
}

/// Number of leading bytes that could begin the promised character; `lead.length` if all are
/// there. Needs a lead with length > 0.
size_t matching_bytes(std::string_view bytes, const Lead& lead) {
  size_t i = 1;
  for (; i < lead.length && i < bytes.size(); ++i) {
    const uint8_t low = i == 1 ? lead.second_min : uint8_t{0x80};
    const uint8_t high = i == 1 ? lead.second_max : uint8_t{0xBF};
    if (byte_at(bytes, i) < low || byte_at(bytes, i) > high) break;
  }
  return i;
}

/// Number of bytes from `begin` that are ASCII for sure, in steps of eight.
size_t ascii_run(std::string_view bytes, size_t begin) {
  size_t i = begin;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t block = 0;
    std::memcpy(&block, bytes.data() + i, sizeof(block));
    if ((block & 0x8080808080808080U) != 0) break;
  }
  return i - begin;
}

}  // namespace

size_t utf8_character_length(std::string_view bytes) {
  if (bytes.empty()) return 0;
  const Lead lead = lead_of(byte_at(bytes, 0));
  if (lead.length == 0) return 0;
  return matching_bytes(bytes, lead) == lead.length ? lead.length : 0;
}

bool is_valid_utf8(std::string_view bytes) {
  for (size_t i = ascii_run(bytes, 0); i < bytes.size();) {
    const size_t length = utf8_character_length(bytes.substr(i));
    if (length == 0) return false;
    i += length;
    i += ascii_run(bytes, i);
  }
  return true;
}

void append_lossy(std::string_view bytes, std::string& out) {
  for (size_t i = 0; i < bytes.size();) {
    const std::string_view rest = bytes.substr(i);
    const Lead lead = lead_of(byte_at(rest, 0));
    const size_t matched = lead.length == 0 ? 1 : matching_bytes(rest, lead);
    if (matched == lead.length) {
      out.append(rest.substr(0, matched));
    } else {
      out.append(kReplacementCharacter);
    }
    i += matched;
  }
}

bool ends_in_whole_character(std::string_view bytes) {
  // A lead byte never continues another character, so what comes before it cannot change how
  // the last character reads.
  const size_t furthest = std::min<size_t>(4, bytes.size());
  for (size_t back = 1; back <= furthest; ++back) {
    const std::string_view tail = bytes.substr(bytes.size() - back);
    const bool continuation = (byte_at(tail, 0) & 0xC0U) == 0x80U;
    if (!continuation) return utf8_character_length(tail) == back;
  }
  return false;
}

}  // namespace deepinfer::recipe
