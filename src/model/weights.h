#pragma once

/// The tensors of a checkpoint directory, mapped and checked.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deepinfer/status.h"
#include "kernels/tensor_view.h"
#include "model/safetensors.h"
#include "model/tensor_inventory.h"

namespace deepinfer::model {

/// Shards of a model directory. Views lent by it live as long as it does. Not thread-safe.
class WeightStore {
 public:
  /// Maps the shards named by `dir`/model.safetensors.index.json or the single
  /// model.safetensors. A `model.` prefix of names is dropped; tensors of the vision tower are
  /// skipped. kNotFound without `dir`; kFailedPrecondition names the file or tensor at fault:
  /// no weights, a missing or damaged shard, a tensor its shard lacks, a tensor in two shards.
  static Result<std::unique_ptr<WeightStore>> open(const std::string& dir);

  /// What `inventory` asks for and the checkpoint does not give, one line each: required
  /// tensors that are missing, and any tensor with another dtype or shape.
  std::vector<std::string> problems(const std::vector<TensorSpec>& inventory) const;
  /// kFailedPrecondition with the first of `problems` and how many there are.
  Status check(const std::vector<TensorSpec>& inventory) const;

  /// Whether the tensor (and its scale) is there.
  bool contains(const TensorSpec& spec) const;

  /// The matrix in its storage format, dtype and shape checked.
  Result<kernels::WeightView> matrix(const TensorSpec& spec);
  /// The elements of a kBF16 tensor.
  Result<const uint16_t*> bf16(const TensorSpec& spec);
  /// The elements of a kF32 tensor.
  Result<const float*> f32(const TensorSpec& spec);

  int64_t num_shards() const { return static_cast<int64_t>(shards_.size()); }

 private:
  struct Entry {
    const StoredTensor* tensor = nullptr;
    const SafetensorsFile* shard = nullptr;
  };

  WeightStore() = default;
  Status open_indexed(const std::string& dir, const std::string& index_path);
  Status open_single(const std::string& path);
  Result<const SafetensorsFile*> open_shard(const std::string& path);
  Status add(std::string_view stored_name, const StoredTensor& tensor,
             const SafetensorsFile& shard);
  std::string problem(const StoredSpec& spec) const;
  const void* aligned(const StoredTensor& tensor, size_t alignment);
  Result<const StoredTensor*> checked(const StoredSpec& spec) const;

  std::vector<std::unique_ptr<SafetensorsFile>> shards_;
  std::unordered_map<std::string, Entry> entries_;
  /// Tensors that do not lie on a multiple of their element size in the file.
  std::vector<std::unique_ptr<std::byte[]>> copies_;
};

/// Looks tensors up by name for a model's constructor and keeps the first error, so that the
/// constructor reads like a list.
class WeightLoader {
 public:
  /// Both must outlive the loader.
  WeightLoader(WeightStore& store, const std::vector<TensorSpec>& inventory);

  kernels::WeightView matrix(const std::string& name);
  const uint16_t* bf16(const std::string& name);
  const float* f32(const std::string& name);
  const Status& status() const { return status_; }

 private:
  const TensorSpec* find(const std::string& name);
  template <typename T>
  T take(Result<T> result);

  WeightStore& store_;
  std::unordered_map<std::string_view, const TensorSpec*> specs_;
  Status status_;
};

}  // namespace deepinfer::model
