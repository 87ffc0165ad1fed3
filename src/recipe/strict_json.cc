#include "recipe/strict_json.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace deepinfer::recipe {
namespace {

/// Builds the value from the parser's events. The library's own builder looks a member up by
/// comparing it with all earlier ones, which a body of many members makes quadratic.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(int64_t value) override {
    // The parser reports only numbers with a minus sign here.
    return value == 0 ? put(-0.0) : put(value);
  }
  bool number_unsigned(uint64_t value) override { return put(value); }
  bool number_float(double value, const std::string& /*text*/) override { return put(value); }
  bool string(std::string& value) override { return put(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }
  bool start_object(size_t /*count*/) override { return open(Json::object()); }
  bool start_array(size_t /*count*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

  bool key(std::string& name) override {
    Frame& frame = frames_.back();
    auto& members = frame.node->get_ref<Json::object_t&>();
    const auto [place, is_new] = frame.places.try_emplace(name, members.size());
    if (is_new) as_list(members).emplace_back(std::move(name), nullptr);
    frame.slot = place->second;
    return true;
  }

 private:
  using MemberList = std::vector<std::pair<const std::string, Json>>;

  /// An open array or object. Pointers hold: the containers around it do not grow meanwhile.
  struct Frame {
    Json* node = nullptr;
    /// Of an object: where its members are, and where the next value goes.
    std::unordered_map<std::string, size_t> places;
    size_t slot = 0;
  };

  static MemberList& as_list(Json::object_t& members) { return members; }

  Json* place(Json value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Frame& frame = frames_.back();
    if (frame.node->is_array()) {
      auto& elements = frame.node->get_ref<Json::array_t&>();
      return &elements.emplace_back(std::move(value));
    }
    Json& slot = as_list(frame.node->get_ref<Json::object_t&>())[frame.slot].second;
    slot = std::move(value);
    return &slot;
  }

  bool put(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (frames_.size() == kMaxJsonDepth) return false;
    Json* node = place(std::move(container));
    frames_.push_back(Frame{.node = node});
    return true;
  }

  bool close() {
    frames_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Frame> frames_;
};

}  // namespace

std::optional<Json> parse_strict_json(std::string_view text) {
  // The library skips a BOM and takes a zero byte for the end; JSON has neither.
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

}  // namespace deepinfer::recipe
