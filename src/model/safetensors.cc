#include "model/safetensors.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "model/json_file.h"

namespace deepinfer::model {
namespace {

constexpr size_t kLengthBytes = 8;
/// The format's own limit for headers.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxRank = 8;

/// Bytes per element, or 0 for a dtype this engine does not know.
int64_t element_bytes(std::string_view dtype) {
  constexpr std::pair<std::string_view, int64_t> kSizes[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
      {"F32", 4},  {"I64", 8}, {"U64", 8}, {"F64", 8},
  };
  for (const auto& [name, bytes] : kSizes) {
    if (name == dtype) {
      return bytes;
    }
  }
  return 0;
}

Status damaged(const std::string& what, const std::string& why) {
  return failed_precondition(fmt::format("{}: not a usable safetensors file: {}", what, why));
}

bool as_size(const Json& value, uint64_t& out) {
  if (!value.is_number_unsigned()) {
    return false;
  }
  out = value.get<uint64_t>();
  return out <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

/// The shape of an entry; false for anything but a short list of sizes.
bool read_shape(const Json& entry, std::vector<int64_t>& shape) {
  const auto it = entry.find("shape");
  if (it == entry.end() || !it->is_array() || it->size() > kMaxRank) {
    return false;
  }
  for (const Json& element : *it) {
    uint64_t size = 0;
    if (!as_size(element, size)) {
      return false;
    }
    shape.push_back(static_cast<int64_t>(size));
  }
  return true;
}

bool read_offsets(const Json& entry, uint64_t& begin, uint64_t& end) {
  const auto it = entry.find("data_offsets");
  return it != entry.end() && it->is_array() && it->size() == 2 && as_size((*it)[0], begin) &&
         as_size((*it)[1], end) && begin <= end;
}

/// dtype bytes times every size of the shape; false if it overflows.
bool bytes_of(int64_t element, const std::vector<int64_t>& shape, int64_t& bytes) {
  bytes = element;
  for (const int64_t size : shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) {
      return false;
    }
  }
  return true;
}

/// One entry of the header, checked against the data section.
Result<StoredTensor> read_entry(const std::string& name, const Json& entry,
                                std::span<const std::byte> data, const std::string& what) {
  StoredTensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
  const bool has_dtype =
      entry.is_object() && entry.contains("dtype") && entry.at("dtype").is_string();
  if (!has_dtype || !read_shape(entry, tensor.shape) || !read_offsets(entry, begin, end)) {
    return damaged(what, fmt::format("tensor {}: expected dtype, shape and data_offsets, found {}",
                                     name, describe(entry)));
  }
  tensor.dtype = entry.at("dtype").get<std::string>();
  if (end > data.size()) {
    return damaged(what, fmt::format("tensor {} ends at byte {} of {} data bytes; the file may be "
                                     "truncated",
                                     name, end, data.size()));
  }
  const int64_t element = element_bytes(tensor.dtype);
  int64_t bytes = 0;
  if (element > 0 &&
      (!bytes_of(element, tensor.shape, bytes) || static_cast<uint64_t>(bytes) != end - begin)) {
    return damaged(what, fmt::format("tensor {}: {} [{}] does not fit its {} bytes", name,
                                     tensor.dtype, fmt::join(tensor.shape, ", "), end - begin));
  }
  tensor.data = data.subspan(begin, end - begin);
  return tensor;
}

/// No byte may belong to two tensors.
Status check_overlap(const TensorMap& tensors, const std::string& what) {
  std::vector<std::pair<std::span<const std::byte>, const std::string*>> parts;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.data.empty()) {
      parts.emplace_back(tensor.data, &name);
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
  for (size_t i = 1; i < parts.size(); ++i) {
    const auto& [previous, previous_name] = parts[i - 1];
    if (previous.data() + previous.size() > parts[i].first.data()) {
      return damaged(what,
                     fmt::format("tensors {} and {} overlap", *previous_name, *parts[i].second));
    }
  }
  return Status::ok();
}

/// The JSON text of the header; `data` receives what follows it.
Result<std::string_view> split_header(std::span<const std::byte> bytes, const std::string& what,
                                      std::span<const std::byte>& data) {
  if (bytes.size() < kLengthBytes) {
    return damaged(what,
                   fmt::format("expected at least {} bytes, found {}", kLengthBytes, bytes.size()));
  }
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    return damaged(what, fmt::format("the header claims {} bytes; the file has {} and a header at "
                                     "most {}",
                                     length, bytes.size(), kMaxHeaderBytes));
  }
  const auto header = bytes.subspan(kLengthBytes, length);
  data = bytes.subspan(kLengthBytes + length);
  return std::string_view(reinterpret_cast<const char*>(header.data()), header.size());
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<TensorMap> parse_safetensors(std::span<const std::byte> bytes, const std::string& what) {
  if (is_lfs_pointer(as_text(bytes))) {
    return failed_precondition(fmt::format(
        "{}: is a Git LFS pointer, not the weights; fetch them with git lfs pull", what));
  }
  std::span<const std::byte> data;
  DI_ASSIGN(const std::string_view text, split_header(bytes, what, data));
  DI_ASSIGN(const Json header, parse_json(text, what + ": header"));
  if (!header.is_object()) {
    return damaged(what, "the header is not a JSON object");
  }
  TensorMap tensors;
  tensors.reserve(header.size());
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    DI_ASSIGN(StoredTensor tensor, read_entry(name, entry, data, what));
    tensors.emplace(name, std::move(tensor));
  }
  DI_TRY(check_overlap(tensors, what));
  return tensors;
}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(const std::string& path) {
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile());
  file->path_ = path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return failed_precondition(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  struct stat info = {};
  const bool regular = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) {
    void* mapping =
        ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      file->mapping_ = mapping;
      file->size_ = static_cast<size_t>(info.st_size);
    }
  }
  const int map_error = errno;
  ::close(fd);
  if (!regular) {
    return failed_precondition(fmt::format("{}: expected a regular file", path));
  }
  if (info.st_size > 0 && file->mapping_ == nullptr) {
    return failed_precondition(
        fmt::format("{}: cannot be mapped: {}", path, std::strerror(map_error)));
  }
  const auto* bytes = static_cast<const std::byte*>(file->mapping_);
  DI_ASSIGN(file->tensors_, parse_safetensors({bytes, file->size_}, path));
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, size_);
  }
}

}  // namespace deepinfer::model
