#include "model/config_reader.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>
#include <limits>
#include <utility>

namespace deepinfer::model {
namespace {

/// Whether `value` is an integer in [low, high]; JSON integers may be unsigned 64-bit.
bool integer_in(const Json& value, int64_t low, int64_t high) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
           static_cast<int64_t>(number) >= low && static_cast<int64_t>(number) <= high;
  }
  return value.is_number_integer() && value.get<int64_t>() >= low && value.get<int64_t>() <= high;
}

}  // namespace

ConfigReader::ConfigReader(const Json& object, std::string where)
    : object_(object), where_(std::move(where)) {}

const Json* ConfigReader::find(const char* key) const {
  if (!object_.is_object()) {
    return nullptr;
  }
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

std::string ConfigReader::found(const char* key) const {
  const Json* value = find(key);
  return value == nullptr ? "nothing" : describe(*value);
}

bool ConfigReader::has(const char* key) const {
  return find(key) != nullptr;
}

void ConfigReader::fail(const char* key, const std::string& expected, const std::string& found) {
  if (status_.is_ok()) {
    status_ = failed_precondition(
        fmt::format("{}{}: expected {}, found {}", where_, key, expected, found));
  }
}

void ConfigReader::check(bool ok, const char* key, const std::string& expected) {
  if (!ok) {
    fail(key, expected, found(key));
  }
}

int64_t ConfigReader::integer(const char* key, int64_t low, int64_t high) {
  const Json* value = find(key);
  if (value == nullptr || !integer_in(*value, low, high)) {
    check(false, key, fmt::format("an integer in {}..{}", low, high));
    return low;
  }
  return value->get<int64_t>();
}

int64_t ConfigReader::integer_or(const char* key, int64_t fallback, int64_t low, int64_t high) {
  return has(key) ? integer(key, low, high) : fallback;
}

double ConfigReader::number(const char* key, double low, double high) {
  const Json* value = find(key);
  const double number = value != nullptr && value->is_number() ? value->get<double>() : NAN;
  if (!(number >= low && number <= high)) {
    check(false, key, fmt::format("a number in {}..{}", low, high));
    return low;
  }
  return number;
}

double ConfigReader::number_or(const char* key, double fallback, double low, double high) {
  return has(key) ? number(key, low, high) : fallback;
}

bool ConfigReader::boolean(const char* key) {
  const Json* value = find(key);
  if (value == nullptr || !value->is_boolean()) {
    check(false, key, "true or false");
    return false;
  }
  return value->get<bool>();
}

std::vector<int64_t> ConfigReader::long_integers(const char* key, int64_t low, int64_t high,
                                                 size_t max_count) {
  std::vector<int64_t> numbers;
  const Json* value = find(key);
  if (value == nullptr) {
    return numbers;
  }
  if (!value->is_array() || value->size() > max_count) {
    check(false, key, fmt::format("a list of at most {} integers", max_count));
    return numbers;
  }
  for (const Json& element : *value) {
    if (!integer_in(element, low, high)) {
      fail(key, fmt::format("integers in {}..{}", low, high), describe(element));
      return {};
    }
    numbers.push_back(element.get<int64_t>());
  }
  return numbers;
}

std::vector<int32_t> ConfigReader::integers(const char* key, int32_t low, int32_t high,
                                            size_t max_count) {
  std::vector<int32_t> numbers;
  for (const int64_t number : long_integers(key, low, high, max_count)) {
    numbers.push_back(static_cast<int32_t>(number));
  }
  return numbers;
}

void ConfigReader::require(const char* key, const Json& value) {
  const Json* present = find(key);
  check(present != nullptr && *present == value, key, describe(value));
}

void ConfigReader::expect(const char* key, const Json& value) {
  if (has(key)) {
    require(key, value);
  }
}

}  // namespace deepinfer::model
