#include "server/flag_set.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace deepinfer::server {
namespace {

int shift_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    default:
      return 0;
  }
}

// Rewrites a whole number with or without suffix as plain digits; returns what is wrong.
template <typename T>
std::string normalize_number(std::string& text) {
  std::string_view digits = text;
  const int shift = digits.empty() ? 0 : shift_of(digits.back());
  if (shift != 0) {
    digits.remove_suffix(1);
  }
  T value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || parsed.ptr != digits.data() + digits.size() ||
      parsed.ec == std::errc::invalid_argument) {
    return fmt::format("'{}' is not a whole number", text);
  }
  const T factor = static_cast<T>(T{1} << shift);
  if (parsed.ec == std::errc::result_out_of_range ||
      value > std::numeric_limits<T>::max() / factor ||
      (std::numeric_limits<T>::min() < 0 && value < std::numeric_limits<T>::min() / factor)) {
    return fmt::format("'{}' is too large", text);
  }
  text = std::to_string(value * factor);
  return {};
}

std::string check_seconds(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && *end == '\0' && std::isfinite(value);
  return number && value >= 0 && value <= 1e9
             ? std::string()
             : fmt::format("'{}' is not a number of seconds, 0 or more", text);
}

}  // namespace

std::string variable_of(std::string_view flag_name) {
  std::string variable = "DEEPINFER_ARG_";
  for (const char c : flag_name) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

CLI::Option* FlagSet::finish(CLI::Option* option) {
  return option->group(group_)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* FlagSet::finish_foreign(CLI::Option* option) {
  return finish(option)->group(std::string(kForeignGroup));
}

template <typename T>
CLI::Option* FlagSet::number_option(const std::string& name, T& target, const std::string& help) {
  CLI::Option* option = app_.add_option("--" + name, target, help);
  option->transform(CLI::Validator(&normalize_number<T>, "", "number"))
      ->type_name("N")
      ->capture_default_str();
  return finish(option);
}

CLI::Option* FlagSet::number(const std::string& name, int32_t& target, const std::string& help) {
  return number_option(name, target, help);
}

CLI::Option* FlagSet::number(const std::string& name, int64_t& target, const std::string& help) {
  return number_option(name, target, help);
}

CLI::Option* FlagSet::number(const std::string& name, uint64_t& target, const std::string& help) {
  return number_option(name, target, help);
}

CLI::Option* FlagSet::seconds(const std::string& name, std::chrono::milliseconds& target,
                              const std::string& help) {
  const auto store = [&target](const double& value) {
    target = std::chrono::milliseconds(std::llround(value * 1e3));
  };
  CLI::Option* option = app_.add_option_function<double>("--" + name, store, help);
  option
      ->check(CLI::Validator([](std::string& text) { return check_seconds(text); }, "", "seconds"))
      ->type_name("SECONDS")
      ->default_str(fmt::format("{:g}", static_cast<double>(target.count()) / 1e3));
  return finish(option);
}

CLI::Option* FlagSet::text(const std::string& name, std::string& target, const std::string& help) {
  return finish(
      app_.add_option("--" + name, target, help)->type_name("TEXT")->capture_default_str());
}

CLI::Option* FlagSet::list(const std::string& name, std::vector<std::string>& target,
                           const std::string& help) {
  CLI::Option* option = app_.add_option("--" + name, target, help)->type_name("TEXT...");
  return finish(option)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::Option* FlagSet::flag(const std::string& name, bool& target, const std::string& help) {
  CLI::Option* option = app_.add_flag(fmt::format("--{0},!--no-{0}", name), target, help);
  return finish(option->default_str(target ? "true" : "false"));
}

void FlagSet::always_on(const std::string& name, const std::string& help) {
  const std::string description = help + " (accepted, no effect)";
  finish_foreign(app_.add_flag("--" + name, description));
}

void FlagSet::ignored(const std::string& name, const std::string& help) {
  const auto take_anything = [](const CLI::results_t&) { return true; };
  finish_foreign(app_.add_option("--" + name, CLI::callback_t(take_anything),
                                 help + " (accepted, no effect)"));
}

void FlagSet::only(const std::string& name, std::vector<std::string> accepted,
                   const std::string& advice) {
  const auto take_anything = [](const CLI::results_t&) { return true; };
  CLI::Option* option =
      app_.add_option(name, CLI::callback_t(take_anything),
                      fmt::format("Only {}: {}", fmt::join(accepted, " or "), advice));
  option->check(CLI::Validator(
      [accepted = std::move(accepted), advice](std::string& text) {
        const bool fine = std::find(accepted.begin(), accepted.end(), text) != accepted.end();
        return fine ? std::string() : fmt::format("{}; got '{}'", advice, text);
      },
      "", "only"));
  finish_foreign(option);
}

}  // namespace deepinfer::server
