#include "tests/golden/checkpoint_copy.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace deepinfer::golden {
namespace {

using Json = nlohmann::json;
using Rename = std::function<std::string(const std::string&)>;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

Json renamed(const Json& tensors, const Rename& rename) {
  Json result = Json::object();
  for (const auto& [name, value] : tensors.items()) {
    result[name == "__metadata__" ? name : rename(name)] = value;
  }
  return result;
}

std::string renamed_shard(const std::string& bytes, const Rename& rename) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) {
    length |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  }
  const std::string header = renamed(Json::parse(bytes.substr(8, length)), rename).dump();
  std::string result;
  for (size_t i = 0; i < 8; ++i) {
    result.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  }
  return result + header + bytes.substr(8 + length);
}

}  // namespace

void copy_checkpoint(const std::string& dir, const std::string& target, const Rename& rename) {
  std::filesystem::create_directories(target);
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::filesystem::path to = std::filesystem::path(target) / entry.path().filename();
    std::string bytes = read(entry.path());
    if (entry.path().extension() == ".safetensors") {
      bytes = renamed_shard(bytes, rename);
    } else if (entry.path().filename() == "model.safetensors.index.json") {
      Json index = Json::parse(bytes);
      index["weight_map"] = renamed(index["weight_map"], rename);
      bytes = index.dump();
    }
    write(to, bytes);
  }
}

}  // namespace deepinfer::golden
