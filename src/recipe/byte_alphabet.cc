#include "recipe/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "recipe/utf8.h"

namespace deepinfer::recipe {
namespace {

/// Stand-ins lie below U+0144: 256 bytes, 68 of which are moved up from U+0100 on.
constexpr int32_t kNumStandIns = 256 + 68;

constexpr bool stands_for_itself(int32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// The byte of each stand-in code point, or -1.
constexpr std::array<int16_t, kNumStandIns> make_byte_of() {
  std::array<int16_t, kNumStandIns> byte_of{};
  byte_of.fill(-1);
  int32_t next = 256;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const int32_t code_point = stands_for_itself(byte) ? byte : next++;
    byte_of[static_cast<size_t>(code_point)] = static_cast<int16_t>(byte);
  }
  return byte_of;
}

constexpr std::array<int16_t, kNumStandIns> kByteOf = make_byte_of();

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  while (!spelling.empty()) {
    const size_t length = utf8_character_length(spelling);
    if (length != 1 && length != 2) return std::nullopt;
    const auto first = static_cast<uint8_t>(spelling[0]);
    uint32_t code_point = first;
    if (length == 2) {
      code_point = ((first & 0x1FU) << 6U) | (static_cast<uint8_t>(spelling[1]) & 0x3FU);
    }
    if (code_point >= kNumStandIns || kByteOf[code_point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOf[code_point]));
    spelling.remove_prefix(length);
  }
  return bytes;
}

}  // namespace deepinfer::recipe
