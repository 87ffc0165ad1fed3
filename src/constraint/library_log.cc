// The library is built to hand its messages to these two functions (cmake/XGrammar.cmake).

#include "constraint/library_log.h"

#include <stdexcept>

#include "base/log.h"

namespace deepinfer::constraint {
namespace {

thread_local WarningGuard* current_guard = nullptr;

constexpr int kWarning = 2;

}  // namespace

struct WarningSink {
  static void add(const std::string& message) {
    if (current_guard != nullptr && !current_guard->first_) {
      current_guard->first_ = message;
    }
  }
};

WarningGuard::WarningGuard() {
  current_guard = this;
}

WarningGuard::~WarningGuard() {
  current_guard = nullptr;
}

}  // namespace deepinfer::constraint

namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string& file, int line, const std::string& message);
void LogMessageImpl(const std::string& file, int line, int level, const std::string& message);

void LogFatalImpl(const std::string& /*file*/, int /*line*/, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string& /*file*/, int /*line*/, int level,
                    const std::string& message) {
  if (level == deepinfer::constraint::kWarning) {
    deepinfer::constraint::WarningSink::add(message);
  }
  DI_LOG_DEBUG("grammar library: {}", message);
}

}  // namespace xgrammar
