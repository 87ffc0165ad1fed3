#pragma once

/// Logging: one line per event on stderr, formatted by spdlog's bundled fmt. User text is
/// never logged, but at level `trace`.

#include <spdlog/spdlog.h>

#include <string>

#include "deepinfer/status.h"

namespace deepinfer::base {

/// Sets level (`trace`, `debug`, `info`, `warning`, `error`, `off`) and format (`text` or `json`)
/// of the process's logger. Call once, before threads start.
Status configure_logging(const std::string& level, const std::string& format);

}  // namespace deepinfer::base

#define DI_LOG_TRACE(...) ::spdlog::trace(__VA_ARGS__)
#define DI_LOG_DEBUG(...) ::spdlog::debug(__VA_ARGS__)
#define DI_LOG_INFO(...) ::spdlog::info(__VA_ARGS__)
#define DI_LOG_WARN(...) ::spdlog::warn(__VA_ARGS__)
#define DI_LOG_ERROR(...) ::spdlog::error(__VA_ARGS__)
