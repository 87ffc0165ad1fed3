#include "recipe/json_reader.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace deepinfer::recipe {
namespace {

/// The base class of an ordered object: appends without searching.
using Members = Json::object_t::Container;

/// Finds nesting and numbers of values beyond the limits, and bytes the library would take for the
/// end of its input, before anything is built.
Status check_surface(std::string_view body, const JsonLimits& limits) {
  if (body.substr(0, 3) == "\xEF\xBB\xBF") {
    return invalid_argument("invalid JSON: the body starts with a byte order mark");
  }
  int32_t depth = 0;
  int64_t num_values = 1;
  bool in_string = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (c == '\0') {
      return invalid_argument("invalid JSON: NUL byte at offset " + std::to_string(i));
    }
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limits.max_depth) {
        return invalid_argument("invalid JSON: nested deeper than " +
                                std::to_string(limits.max_depth) + " levels at offset " +
                                std::to_string(i));
      }
      ++num_values;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',') {
      ++num_values;
    }
    if (num_values > limits.max_values) {
      return invalid_argument("invalid JSON: more than " + std::to_string(limits.max_values) +
                              " values");
    }
  }
  return Status::ok();
}

/// Builds the value while the library tokenizes. Keys of large objects are indexed, because
/// an ordered object finds a key by walking.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(bool refuse_duplicate_keys) : refuse_duplicate_keys_(refuse_duplicate_keys) {}

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override {
    // Zero arrives here only with its sign: `-0`, which is a float.
    return value == 0 ? add(-0.0) : add(value);
  }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    Members& members = level.value->get_ref<Json::object_t&>();
    const size_t known = level.find(members, name);
    if (known == members.size()) {
      members.emplace_back(std::move(name), nullptr);
      level.note(members);
    } else if (refuse_duplicate_keys_) {
      error_ = invalid_argument("invalid JSON: member \"" + name + "\" is repeated");
      return false;
    }
    level.member = known;
    return true;
  }

  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    error_ = invalid_argument("invalid JSON at offset " +
                              std::to_string(position == 0 ? 0 : position - 1) +
                              (token.empty() ? std::string() : " near " + readable(token)));
    return false;
  }

  const Status& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json* value = nullptr;
    /// Place of the member whose value comes next.
    size_t member = 0;
    std::unordered_map<std::string, size_t> index;

    static constexpr size_t kIndexFrom = 16;

    size_t find(const Members& members, const std::string& name) const {
      if (members.size() > kIndexFrom) {
        const auto at = index.find(name);
        return at == index.end() ? members.size() : at->second;
      }
      size_t i = 0;
      while (i < members.size() && members[i].first != name) {
        ++i;
      }
      return i;
    }
    void note(const Members& members) {
      if (members.size() <= kIndexFrom) {
        return;
      }
      for (size_t i = index.size(); i < members.size(); ++i) {
        index.emplace(members[i].first, i);
      }
    }
  };

  /// The place where the next value goes.
  Json& slot() {
    if (levels_.empty()) {
      return root_;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      return level.value->get_ref<Json::array_t&>().emplace_back();
    }
    Members& members = level.value->get_ref<Json::object_t&>();
    return members[level.member].second;
  }
  template <typename T>
  bool add(T&& value) {
    slot() = std::forward<T>(value);
    return true;
  }
  bool open(Json empty) {
    Json& place = slot();
    place = std::move(empty);
    levels_.push_back({.value = &place});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  /// The offending bytes, cut and without control characters.
  static std::string readable(const std::string& token) {
    std::string text = "'";
    for (const char c : token.substr(token.size() - std::min<size_t>(token.size(), 20))) {
      text += c >= 0x20 && c < 0x7F ? c : '?';
    }
    return text + "'";
  }

  const bool refuse_duplicate_keys_;
  Json root_;
  std::vector<Level> levels_;
  Status error_;
};

}  // namespace

Result<Json> read_json(std::string_view body, const JsonLimits& limits) {
  DI_TRY(check_surface(body, limits));
  Builder builder(limits.refuse_duplicate_keys);
  if (!Json::sax_parse(body, &builder)) {
    return builder.error().is_ok() ? invalid_argument("invalid JSON") : builder.error();
  }
  return builder.take();
}

}  // namespace deepinfer::recipe
