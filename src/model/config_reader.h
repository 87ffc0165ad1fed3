#pragma once

/// Typed access to the keys of a JSON object that keeps the first error, so that a loader reads
/// like a list of keys. Private to this module.

#include <cstdint>
#include <string>
#include <vector>

#include "deepinfer/status.h"
#include "model/json_file.h"

namespace deepinfer::model {

/// Reads keys of `object`, which must outlive the reader. After the first error every read
/// returns a harmless value (the lower bound, or nothing) and `status()` says what was wrong.
class ConfigReader {
 public:
  /// `where` precedes key names in messages: `config.json: text_config.`.
  ConfigReader(const Json& object, std::string where);

  const Status& status() const { return status_; }
  /// Whether the key is there and not null.
  bool has(const char* key) const;

  /// An integer in [low, high].
  int64_t integer(const char* key, int64_t low, int64_t high);
  int64_t integer_or(const char* key, int64_t fallback, int64_t low, int64_t high);
  /// A finite number in [low, high].
  double number(const char* key, double low, double high);
  double number_or(const char* key, double fallback, double low, double high);
  bool boolean(const char* key);
  /// Integers in [low, high], at most `max_count`; empty if the key is absent or null.
  std::vector<int32_t> integers(const char* key, int32_t low, int32_t high, size_t max_count);
  std::vector<int64_t> long_integers(const char* key, int64_t low, int64_t high, size_t max_count);

  /// The key must be there with this value.
  void require(const char* key, const Json& value);
  /// If the key is there, it must have this value.
  void expect(const char* key, const Json& value);
  /// Records `key: expected <expected>, found <found>` unless an error is recorded already.
  void fail(const char* key, const std::string& expected, const std::string& found);
  /// `fail` with what the key holds, when `ok` is false.
  void check(bool ok, const char* key, const std::string& expected);

 private:
  const Json* find(const char* key) const;
  std::string found(const char* key) const;

  const Json& object_;
  std::string where_;
  Status status_;
};

}  // namespace deepinfer::model
