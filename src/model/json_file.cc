#include "model/json_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unordered_set>
#include <utility>
#include <vector>

namespace deepinfer::model {
namespace {

constexpr uintmax_t kMaxJsonBytes = uintmax_t{1} << 30;
constexpr size_t kMaxDescribed = 80;

Status unreadable(const std::string& path, const std::string& reason) {
  return failed_precondition(fmt::format("{}: cannot be read: {}", path, reason));
}

// Remembers the names of the objects that are open while a text is parsed.
class RepeatedNames {
 public:
  // For the parser; keeps every value.
  bool see(Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      if (!open_.back().insert(name).second && first_.empty()) {
        first_ = name;
      }
    }
    return true;
  }
  // Empty if there was none.
  const std::string& first() const { return first_; }

 private:
  std::vector<std::unordered_set<std::string>> open_;
  std::string first_;
};

}  // namespace

bool is_lfs_pointer(std::string_view bytes) {
  constexpr std::string_view kMark = "version https://git-lfs.github.com/spec";
  return bytes.substr(0, kMark.size()) == kMark;
}

std::string describe(const Json& value) {
  if (value.is_object()) {
    return fmt::format("an object with {} keys", value.size());
  }
  // Nested lists are not printed: `dump` recurses, and the depth is the file's choice.
  const bool flat = value.is_primitive() ||
                    std::all_of(value.begin(), value.end(),
                                [](const Json& element) { return element.is_primitive(); });
  if (!flat || (value.is_array() && value.size() > kMaxDescribed)) {
    return fmt::format("a list of {} elements", value.size());
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMaxDescribed) {
    text = text.substr(0, kMaxDescribed) + "…";
  }
  return text;
}

Result<Json> parse_json(std::string_view text, const std::string& what) {
  RepeatedNames names;
  try {
    Json value = Json::parse(text.begin(), text.end(),
                             [&names](int /*depth*/, Json::parse_event_t event, Json& parsed) {
                               return names.see(event, parsed);
                             });
    if (!names.first().empty()) {
      return failed_precondition(
          fmt::format("{}: {} is named twice", what, describe(Json(names.first()))));
    }
    return value;
  } catch (const Json::exception& error) {
    // Behind its place the library quotes the text, whose bytes may be anything.
    const std::string_view message = error.what();
    return failed_precondition(fmt::format("{}: not valid JSON: {}", what,
                                           message.substr(0, message.find("; last read"))));
  }
}

Result<Json> read_json_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return not_found(fmt::format("{}: no such file", path));
  }
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) {
    return unreadable(path, error.message());
  }
  if (size > kMaxJsonBytes) {
    return failed_precondition(fmt::format("{}: {} bytes; at most {} are expected of a JSON file",
                                           path, size, kMaxJsonBytes));
  }
  std::string text(static_cast<size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(size))) {
    return unreadable(path, std::strerror(errno));
  }
  if (is_lfs_pointer(text)) {
    return failed_precondition(fmt::format(
        "{}: is a Git LFS pointer, not the file itself; fetch it with git lfs pull", path));
  }
  return parse_json(text, path);
}

}  // namespace deepinfer::model
