#pragma once

/// Declares flags on a CLI11 parser the way all of ours look: one group, one environment
/// variable, last value wins, values checked before they are converted.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::server {

/// Group of the flags that exist for the sake of other servers' users.
inline constexpr std::string_view kForeignGroup = "Compatibility";

/// `max-num-seqs` → `DEEPINFER_ARG_MAX_NUM_SEQS`.
std::string variable_of(std::string_view flag_name);

class FlagSet {
 public:
  explicit FlagSet(CLI::App& app) : app_(app) {}

  /// Flags declared from here on belong to this group.
  void group(std::string name) { group_ = std::move(name); }

  /// Whole numbers; `32k`, `1M` and `2G` count in powers of 1024.
  CLI::Option* number(const std::string& name, int32_t& target, const std::string& help);
  CLI::Option* number(const std::string& name, int64_t& target, const std::string& help);
  CLI::Option* number(const std::string& name, uint64_t& target, const std::string& help);
  /// Seconds, fractions allowed.
  CLI::Option* seconds(const std::string& name, std::chrono::milliseconds& target,
                       const std::string& help);
  CLI::Option* text(const std::string& name, std::string& target, const std::string& help);
  /// Several values, given at once or one by one.
  CLI::Option* list(const std::string& name, std::vector<std::string>& target,
                    const std::string& help);
  /// `--name` and `--no-name`.
  CLI::Option* flag(const std::string& name, bool& target, const std::string& help);
  /// A flag of other servers that asks for what is always so here.
  void always_on(const std::string& name, const std::string& help);
  /// An option of other servers whose value means nothing here.
  void ignored(const std::string& name, const std::string& help);
  /// An option of other servers; only `accepted` values pass, others get `advice`.
  void only(const std::string& name, std::vector<std::string> accepted, const std::string& advice);

 private:
  CLI::Option* finish(CLI::Option* option);
  CLI::Option* finish_foreign(CLI::Option* option);
  template <typename T>
  CLI::Option* number_option(const std::string& name, T& target, const std::string& help);

  CLI::App& app_;
  std::string group_;
};

}  // namespace deepinfer::server
