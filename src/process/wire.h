#pragma once

/// Structs as positional CBOR arrays. `describe(visitor, struct)` names a struct's members once;
/// `Writer` and `Reader` walk that description, so that both directions cannot differ. Both ends
/// are the same program, so there are no versions; what arrives is checked all the same. Enums
/// need a `last_enumerator`.

#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::process {

using Json = nlohmann::json;

/// Appends members to an array.
class Writer {
 public:
  template <typename T>
  void operator()(const char* /*name*/, const T& value) {
    out_.push_back(json_of(value));
  }
  Json take() { return std::move(out_); }

 private:
  template <typename T>
  static Json json_of(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<int>(value);
    } else {
      // Descriptions serve both directions, so they take what they read.
      Writer inner;
      describe(inner, const_cast<T&>(value));
      return inner.take();
    }
  }
  template <typename Rep, typename Period>
  static Json json_of(const std::chrono::duration<Rep, Period>& value) {
    return value.count();
  }
  static Json json_of(const std::chrono::steady_clock::time_point& value) {
    return json_of(value.time_since_epoch());
  }
  template <typename T>
  static Json json_of(const std::optional<T>& value) {
    return value ? json_of(*value) : Json();
  }
  template <typename A, typename B>
  static Json json_of(const std::pair<A, B>& value) {
    return Json::array({json_of(value.first), json_of(value.second)});
  }
  template <typename T>
  static Json json_of(const std::vector<T>& values) {
    Json::array_t items;
    items.reserve(values.size());
    for (const T& value : values) {
      items.push_back(json_of(value));
    }
    return items;
  }

  Json out_ = Json::array();
};

/// Takes members off an array. The first that is missing or out of range is kept; reading goes
/// on without effect.
class Reader {
 public:
  explicit Reader(const Json& array) : array_(array) {
    if (!array.is_array()) {
      fail("is not an array");
    }
  }

  template <typename T>
  void operator()(const char* name, T& value) {
    name_ = name;
    if (const Json* item = next()) {
      read(*item, value);
    }
  }
  /// OK if every member was there and nothing else was.
  Status finish() {
    if (status_.is_ok() && next_ != array_.size()) {
      fail("is followed by more");
    }
    return std::move(status_);
  }

 private:
  const Json* next() {
    if (!status_.is_ok()) {
      return nullptr;
    }
    if (next_ == array_.size()) {
      fail("is missing");
      return nullptr;
    }
    return &array_[next_++];
  }
  void fail(const char* what) {
    if (status_.is_ok()) {
      status_ = invalid_argument(fmt::format("{} {}", name_, what));
    }
  }

  void read(const Json& item, bool& value) {
    item.is_boolean() ? void(value = item.get<bool>()) : fail("is not a boolean");
  }
  template <std::integral T>
  void read(const Json& item, T& value) {
    if (item.is_number_unsigned()) {
      const auto number = item.get<uint64_t>();
      std::in_range<T>(number) ? void(value = static_cast<T>(number)) : fail("is too large");
    } else if (item.is_number_integer()) {
      const auto number = item.get<int64_t>();
      std::in_range<T>(number) ? void(value = static_cast<T>(number)) : fail("is out of range");
    } else {
      fail("is not an integer");
    }
  }
  template <typename E>
  requires std::is_enum_v<E>
  void read(const Json& item, E& value) {
    int number = 0;
    read(item, number);
    if (number < 0 || number > static_cast<int>(last_enumerator(value))) {
      fail("is no known value");
    } else {
      value = static_cast<E>(number);
    }
  }
  template <std::floating_point T>
  void read(const Json& item, T& value) {
    item.is_number() ? void(value = item.get<T>()) : fail("is not a number");
  }
  void read(const Json& item, std::string& value) {
    item.is_string() ? void(value = item.get_ref<const std::string&>()) : fail("is not text");
  }
  template <typename Rep, typename Period>
  void read(const Json& item, std::chrono::duration<Rep, Period>& value) {
    Rep count{};
    read(item, count);
    value = std::chrono::duration<Rep, Period>(count);
  }
  void read(const Json& item, std::chrono::steady_clock::time_point& value) {
    std::chrono::steady_clock::duration since{};
    read(item, since);
    value = std::chrono::steady_clock::time_point(since);
  }
  template <typename T>
  void read(const Json& item, std::optional<T>& value) {
    item.is_null() ? value.reset() : read(item, value.emplace());
  }
  template <typename A, typename B>
  void read(const Json& item, std::pair<A, B>& value) {
    if (!item.is_array() || item.size() != 2) {
      return fail("is not a pair");
    }
    read(item[0], value.first);
    read(item[1], value.second);
  }
  template <typename T>
  void read(const Json& item, std::vector<T>& values) {
    if (!item.is_array()) {
      return fail("is not a list");
    }
    values.resize(item.size());
    for (size_t i = 0; i < values.size() && status_.is_ok(); ++i) {
      read(item[i], values[i]);
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void read(const Json& item, T& value) {
    Reader inner(item);
    describe(inner, value);
    if (const Status status = inner.finish(); !status.is_ok() && status_.is_ok()) {
      status_ = status.with_context(name_);
    }
  }

  const Json& array_;
  size_t next_ = 0;
  const char* name_ = "message";
  Status status_;
};

}  // namespace deepinfer::process
