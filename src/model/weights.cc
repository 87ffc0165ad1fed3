#include "model/weights.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "model/json_file.h"
#include "model/weight_index.h"

namespace deepinfer::model {
namespace {

constexpr const char* kSingleName = "model.safetensors";

std::string list_directory(const std::string& dir) {
  constexpr size_t kMaxListed = 8;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(dir, error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) {
    return error ? error.message() : "nothing";
  }
  const size_t shown = std::min(names.size(), kMaxListed);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

kernels::DType kernel_dtype(TensorFormat format) {
  switch (format) {
    case TensorFormat::kBF16:
      return kernels::DType::kBF16;
    case TensorFormat::kF32:
      return kernels::DType::kF32;
    case TensorFormat::kFp8Tiles:
    case TensorFormat::kFp8Rows:
      return kernels::DType::kF8E4M3;
    case TensorFormat::kFp4Rows:
      return kernels::DType::kF4E2M1;
  }
  return kernels::DType::kF32;
}

size_t element_alignment(TensorFormat format) {
  return format == TensorFormat::kF32    ? alignof(float)
         : format == TensorFormat::kBF16 ? alignof(uint16_t)
                                         : 1;
}

}  // namespace

Result<std::unique_ptr<WeightStore>> WeightStore::open(const std::string& dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) {
    return not_found(fmt::format("{}: no such model directory", dir));
  }
  std::unique_ptr<WeightStore> store(new WeightStore());
  const std::string index = fmt::format("{}/{}", dir, kIndexFile);
  const std::string single = fmt::format("{}/{}", dir, kSingleName);
  if (std::filesystem::exists(index, error)) {
    DI_TRY(store->open_indexed(dir, index));
  } else if (std::filesystem::exists(single, error)) {
    DI_TRY(store->open_single(single));
  } else {
    return failed_precondition(fmt::format("{}: no weights: expected {} or {}, found {}", dir,
                                           kIndexFile, kSingleName, list_directory(dir)));
  }
  return store;
}

Result<const SafetensorsFile*> WeightStore::open_shard(const std::string& path) {
  DI_ASSIGN(auto shard, SafetensorsFile::open(path));
  shards_.push_back(std::move(shard));
  return shards_.back().get();
}

Status WeightStore::add(std::string_view stored_name, const StoredTensor& tensor,
                        const SafetensorsFile& shard) {
  const std::string name(plain_name(stored_name));
  const auto [it, fresh] = entries_.try_emplace(name, Entry{&tensor, &shard});
  if (!fresh) {
    return failed_precondition(fmt::format("tensor {} is stored twice: in {} and in {}", name,
                                           it->second.shard->path(), shard.path()));
  }
  return Status::ok();
}

Status WeightStore::open_single(const std::string& path) {
  DI_ASSIGN(const SafetensorsFile* shard, open_shard(path));
  for (const auto& [name, tensor] : shard->tensors()) {
    if (!is_vision(plain_name(name))) {
      DI_TRY(add(name, tensor, *shard));
    }
  }
  return Status::ok();
}

Status WeightStore::open_indexed(const std::string& dir, const std::string& index_path) {
  DI_ASSIGN(const Json index, read_json_file(index_path));
  DI_ASSIGN(const WeightIndex names_of_shard, parse_weight_index(index, index_path));
  for (const auto& [file_name, names] : names_of_shard) {
    DI_ASSIGN(const SafetensorsFile* shard, open_shard(fmt::format("{}/{}", dir, file_name)));
    for (const std::string& name : names) {
      const auto it = shard->tensors().find(name);
      if (it == shard->tensors().end()) {
        return failed_precondition(fmt::format("{}: tensor {} is missing; {} says it is there",
                                               shard->path(), name, kIndexFile));
      }
      DI_TRY(add(name, it->second, *shard));
    }
  }
  // A second copy in a shard that the index does not name for it: which one is meant?
  for (const auto& shard : shards_) {
    for (const auto& [name, tensor] : shard->tensors()) {
      const auto it = entries_.find(std::string(plain_name(name)));
      if (it != entries_.end() && it->second.tensor != &tensor) {
        return failed_precondition(fmt::format("tensor {} is stored twice: in {} and in {}", name,
                                               it->second.shard->path(), shard->path()));
      }
    }
  }
  return Status::ok();
}

std::string WeightStore::problem(const StoredSpec& spec) const {
  const auto it = entries_.find(spec.name);
  if (it == entries_.end()) {
    return fmt::format("tensor {} is missing: expected {} [{}]", spec.name, spec.dtype,
                       fmt::join(spec.shape, ", "));
  }
  const StoredTensor& tensor = *it->second.tensor;
  if (tensor.dtype != spec.dtype || tensor.shape != spec.shape) {
    return fmt::format("{}: tensor {}: expected {} [{}], found {} [{}]", it->second.shard->path(),
                       spec.name, spec.dtype, fmt::join(spec.shape, ", "), tensor.dtype,
                       fmt::join(tensor.shape, ", "));
  }
  return {};
}

std::vector<std::string> WeightStore::problems(const std::vector<TensorSpec>& inventory) const {
  std::vector<std::string> lines;
  for (const TensorSpec& spec : inventory) {
    for (const StoredSpec& stored : spec.stored()) {
      if (!spec.required && entries_.count(stored.name) == 0) {
        continue;
      }
      std::string line = problem(stored);
      if (!line.empty()) {
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

Status WeightStore::check(const std::vector<TensorSpec>& inventory) const {
  const std::vector<std::string> lines = problems(inventory);
  if (lines.empty()) {
    return Status::ok();
  }
  return failed_precondition(lines.size() == 1 ? lines.front()
                                               : fmt::format("{} (and {} more such tensors)",
                                                             lines.front(), lines.size() - 1));
}

bool WeightStore::contains(const TensorSpec& spec) const {
  const std::vector<StoredSpec> stored = spec.stored();
  return std::all_of(stored.begin(), stored.end(),
                     [&](const StoredSpec& part) { return entries_.count(part.name) > 0; });
}

Result<const StoredTensor*> WeightStore::checked(const StoredSpec& spec) const {
  std::string line = problem(spec);
  if (!line.empty()) {
    return failed_precondition(std::move(line));
  }
  return entries_.at(spec.name).tensor;
}

const void* WeightStore::aligned(const StoredTensor& tensor, size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.data.data());
  if (address % alignment == 0) {
    return tensor.data.data();
  }
  copies_.push_back(std::make_unique<std::byte[]>(tensor.data.size()));
  std::memcpy(copies_.back().get(), tensor.data.data(), tensor.data.size());
  return copies_.back().get();
}

Result<kernels::WeightView> WeightStore::matrix(const TensorSpec& spec) {
  const std::vector<StoredSpec> stored = spec.stored();
  DI_ASSIGN(const StoredTensor* tensor, checked(stored[0]));
  kernels::WeightView view;
  view.data = aligned(*tensor, element_alignment(spec.format));
  view.dtype = kernel_dtype(spec.format);
  view.rows = spec.shape[0];
  view.cols = spec.shape.size() > 1 ? spec.shape[1] : 1;
  if (stored.size() > 1) {
    DI_ASSIGN(const StoredTensor* scale, checked(stored[1]));
    view.scale = reinterpret_cast<const uint8_t*>(scale->data.data());
    view.scale_rows = spec.format == TensorFormat::kFp8Tiles ? 32 : 1;
  }
  return view;
}

Result<const uint16_t*> WeightStore::bf16(const TensorSpec& spec) {
  DI_ASSIGN(const StoredTensor* tensor, checked(spec.stored()[0]));
  return static_cast<const uint16_t*>(aligned(*tensor, alignof(uint16_t)));
}

Result<const float*> WeightStore::f32(const TensorSpec& spec) {
  DI_ASSIGN(const StoredTensor* tensor, checked(spec.stored()[0]));
  return static_cast<const float*>(aligned(*tensor, alignof(float)));
}

WeightLoader::WeightLoader(WeightStore& store, const std::vector<TensorSpec>& inventory)
    : store_(store) {
  specs_.reserve(inventory.size());
  for (const TensorSpec& spec : inventory) {
    specs_.emplace(spec.name, &spec);
  }
}

const TensorSpec* WeightLoader::find(const std::string& name) {
  const auto it = specs_.find(name);
  if (it == specs_.end() && status_.is_ok()) {
    status_ = internal_error(fmt::format("tensor {} is not in the inventory", name));
  }
  return it == specs_.end() ? nullptr : it->second;
}

template <typename T>
T WeightLoader::take(Result<T> result) {
  if (result.has_value()) {
    return *std::move(result);
  }
  if (status_.is_ok()) {
    status_ = result.error();
  }
  return T();
}

kernels::WeightView WeightLoader::matrix(const std::string& name) {
  const TensorSpec* spec = find(name);
  return spec == nullptr ? kernels::WeightView() : take(store_.matrix(*spec));
}

const uint16_t* WeightLoader::bf16(const std::string& name) {
  const TensorSpec* spec = find(name);
  return spec == nullptr ? nullptr : take(store_.bf16(*spec));
}

const float* WeightLoader::f32(const std::string& name) {
  const TensorSpec* spec = find(name);
  return spec == nullptr ? nullptr : take(store_.f32(*spec));
}

}  // namespace deepinfer::model
