#pragma once

/// Hand-made configurations and checkpoints for the tests of this folder.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace deepinfer::model {

/// A directory that is removed with the object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string path() const { return path_.string(); }
  /// Writes a file of the directory.
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path path_;
};

/// A tensor of a hand-made file; `bytes` empty = zeros of the right size.
struct TinyTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// A safetensors file with these tensors, `gap` unused bytes before each.
std::string safetensors_bytes(const std::vector<TinyTensor>& tensors, size_t gap = 0);
/// A safetensors file of this header text and data.
std::string raw_safetensors(const std::string& header, const std::string& data);

/// A valid config.json of six layers: plain, plain with Engram, two of ratio 2, two of ratio 1.
nlohmann::json tiny_config();

}  // namespace deepinfer::model
