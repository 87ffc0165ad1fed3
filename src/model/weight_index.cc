#include "model/weight_index.h"

#include <spdlog/fmt/fmt.h>

namespace deepinfer::model {
namespace {

/// Shard file names come from the index: they must stay in its directory.
bool is_plain_file_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

}  // namespace

std::string_view plain_name(std::string_view name) {
  constexpr std::string_view kPrefix = "model.";
  return name.substr(0, kPrefix.size()) == kPrefix ? name.substr(kPrefix.size()) : name;
}

bool is_vision(std::string_view plain_name) {
  for (const std::string_view prefix : {"vision.", "aligner.", "image_"}) {
    if (plain_name.substr(0, prefix.size()) == prefix) {
      return true;
    }
  }
  return false;
}

Result<WeightIndex> parse_weight_index(const Json& index, const std::string& what) {
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object() || map->empty()) {
    return failed_precondition(
        fmt::format("{}: weight_map: expected an object of tensor names and files", what));
  }
  WeightIndex names_of_shard;
  for (const auto& [name, value] : map->items()) {
    if (is_vision(plain_name(name))) {
      continue;
    }
    if (!value.is_string() || !is_plain_file_name(value.get<std::string>())) {
      return failed_precondition(fmt::format("{}: weight_map: {}: expected a file name, found {}",
                                             what, name, describe(value)));
    }
    names_of_shard[value.get<std::string>()].push_back(name);
  }
  return names_of_shard;
}

}  // namespace deepinfer::model
