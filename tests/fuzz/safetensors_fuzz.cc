// Bytes of a safetensors file, or after the byte `i` the text of an index of several.

#include <algorithm>
#include <cstring>
#include <span>

#include "fuzz/fuzz.h"
#include "model/safetensors.h"
#include "model/weight_index.h"

using namespace deepinfer;  // a target is one function

namespace {

void play_index(std::string_view text) {
  const auto json = model::parse_json(text, "index");
  if (!json) {
    return fuzz::expect_bad_file(json.error());
  }
  const auto index = model::parse_weight_index(*json, "index");
  if (!index) {
    return fuzz::expect_bad_file(index.error());
  }
  for (const auto& [file, names] : *index) {
    fuzz::expect(!file.empty() && file != ".." && file.find('/') == std::string::npos,
                 "a file that is elsewhere", file);
    fuzz::expect(!names.empty(), "a file without tensors", file);
  }
}

/// The fuzzer has no hand for lengths: they are put in front of its header and data.
std::vector<std::byte> file_of(std::string_view text) {
  const size_t end = text.find('\0');
  const uint64_t header = std::min(end, text.size());
  std::vector<std::byte> bytes(sizeof header + text.size() - (end < text.size() ? 1 : 0));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, text.data(), header);
  if (end < text.size()) {
    std::memcpy(bytes.data() + sizeof header + header, text.data() + end + 1,
                text.size() - end - 1);
  }
  return bytes;
}

void play_file(std::span<const std::byte> bytes) {
  const auto tensors = model::parse_safetensors(bytes, "file");
  if (!tensors) {
    return fuzz::expect_bad_file(tensors.error());
  }
  for (const auto& [name, tensor] : *tensors) {
    const bool inside = tensor.data.empty() ||
                        (tensor.data.data() >= bytes.data() &&
                         tensor.data.data() + tensor.data.size() <= bytes.data() + bytes.size());
    fuzz::expect(inside, "data outside the file", name);
    // Every byte is read: a sanitizer sees what the check above does not.
    const auto zeros = std::count(tensor.data.begin(), tensor.data.end(), std::byte{0});
    fuzz::expect(static_cast<size_t>(zeros) <= tensor.data.size(), "more bytes than there are",
                 name);
    for (const int64_t length : tensor.shape) {
      fuzz::expect(length >= 0, "a negative length", name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (!text.empty() && text.front() == 'i') {
    play_index(text.substr(1));
  } else if (!text.empty() && text.front() == 'h') {
    play_file(file_of(text.substr(1)));
  } else {
    play_file(std::as_bytes(std::span(data, size)));
  }
  return 0;
}
