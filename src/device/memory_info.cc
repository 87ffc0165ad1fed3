#include "device/memory_info.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace deepinfer::device {
namespace {

/// The number alone in a file; nothing if it is missing or a word such as `max`.
std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) {
    return std::nullopt;
  }
  return value;
}

/// The number after `key` at the start of a line.
std::optional<int64_t> read_field(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string name;
  std::string rest;
  int64_t value = 0;
  while (file >> name) {
    if (name == key && (file >> value)) {
      return value;
    }
    file.clear();
    std::getline(file, rest);
  }
  return std::nullopt;
}

std::optional<int64_t> remaining(std::optional<int64_t> limit, std::optional<int64_t> used,
                                 int64_t reclaimable) {
  if (!limit || !used) {
    return std::nullopt;
  }
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, *used - reclaimable));
}

std::optional<int64_t> cgroup_remaining(const std::string& root) {
  const std::string stat = root + "/memory.stat";
  const int64_t cache =
      read_field(stat, "active_file").value_or(0) + read_field(stat, "inactive_file").value_or(0);
  if (auto left = remaining(read_number(root + "/memory.max"),
                            read_number(root + "/memory.current"), cache)) {
    return left;
  }
  const std::string v1 = root + "/memory";
  const int64_t v1_cache = read_field(v1 + "/memory.stat", "total_active_file").value_or(0) +
                           read_field(v1 + "/memory.stat", "total_inactive_file").value_or(0);
  return remaining(read_number(v1 + "/memory.limit_in_bytes"),
                   read_number(v1 + "/memory.usage_in_bytes"), v1_cache);
}

}  // namespace

int64_t available_memory_bytes(const std::string& proc_root, const std::string& cgroup_root) {
  const int64_t system =
      read_field(proc_root + "/meminfo", "MemAvailable:").value_or(0) * int64_t{1024};
  return std::min(system,
                  cgroup_remaining(cgroup_root).value_or(std::numeric_limits<int64_t>::max()));
}

}  // namespace deepinfer::device
