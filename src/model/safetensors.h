#pragma once

/// Reads one safetensors file: little-endian u64 header length, JSON header, data (model spec
/// §3.1). Nothing in a file is trusted: every length is checked against the file's size.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::model {

/// One tensor of a file. `dtype` keeps the file's spelling: tensors nobody needs may have
/// types this engine does not know.
struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  /// Borrowed from the bytes that were parsed.
  std::span<const std::byte> data;
};

/// Tensors by name.
using TensorMap = std::unordered_map<std::string, StoredTensor>;

/// The tensors in the bytes of a whole file, which must outlive the result. `what` names the
/// file in messages. kFailedPrecondition for anything that is not a well-formed file: a header
/// beyond the end, wrong JSON, negative or overflowing shapes, data outside the file,
/// overlapping tensors, a size that differs from dtype times shape. Gaps and padding are
/// allowed, as are unknown dtypes (their size cannot be checked).
/// Source: https://huggingface.co/docs/safetensors, "Format".
Result<TensorMap> parse_safetensors(std::span<const std::byte> bytes, const std::string& what);

/// A mapped file and its tensors. Pages are read when they are touched.
class SafetensorsFile {
 public:
  /// kFailedPrecondition names the file and says what was expected (missing, unreadable, a Git
  /// LFS pointer, damaged).
  static Result<std::unique_ptr<SafetensorsFile>> open(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const TensorMap& tensors() const { return tensors_; }

 private:
  SafetensorsFile() = default;

  std::string path_;
  void* mapping_ = nullptr;
  size_t size_ = 0;
  TensorMap tensors_;
};

}  // namespace deepinfer::model
