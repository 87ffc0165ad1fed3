#pragma once

/// What an operation that can fail returns: `Status` (no value) or `Result<T>` (value or
/// `Status`). Expected failures travel this way; broken invariants abort (`base/check.h`).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace deepinfer {

/// What kind of failure it is. `server/openai_error.h` holds the one table to HTTP.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument,     ///< The caller's input is wrong; it will fail again.
  kUnauthenticated,     ///< No key, or a wrong one.
  kNotFound,            ///< A named thing does not exist (model, file, route).
  kFailedPrecondition,  ///< The thing exists but is not usable (damaged or unsupported model).
  kResourceExhausted,   ///< A limit or queue is full; trying later can help.
  kUnavailable,         ///< Starting, draining or the engine is gone; trying later can help.
  kDeadlineExceeded,    ///< Took longer than allowed.
  kCancelled,           ///< The caller gave up.
  kUnimplemented,       ///< Valid, but this version cannot do it. Never silently ignored.
  kInternal,            ///< A fault of ours.
};

/// The enumerator's name without the `k`, in snake case (`invalid_argument`).
std::string_view to_string(StatusCode code);

/// Outcome of an operation: a code, a message for people, and for request errors the
/// offending field (`param`) and a machine-readable `reason` (OpenAI's `code`).
class [[nodiscard]] Status {
 public:
  /// Success.
  Status() = default;
  /// A failure; `code` must not be kOk.
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }

  bool is_ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  /// Says what was expected and what came: `top_p must be in (0, 1], got 1.5`.
  const std::string& message() const { return message_; }
  /// Request field at fault (`messages[2].content`); empty if none.
  const std::string& param() const { return param_; }
  /// Stable identifier for programs (`context_length_exceeded`); empty if none.
  const std::string& reason() const { return reason_; }

  Status&& with_param(std::string param) && {
    param_ = std::move(param);
    return std::move(*this);
  }
  Status&& with_reason(std::string reason) && {
    reason_ = std::move(reason);
    return std::move(*this);
  }
  /// The same failure with `prefix: ` in front of its message.
  Status with_context(std::string_view prefix) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string param_;
  std::string reason_;
};

Status invalid_argument(std::string message);
Status not_found(std::string message);
Status failed_precondition(std::string message);
Status resource_exhausted(std::string message);
Status unavailable(std::string message);
Status deadline_exceeded(std::string message);
Status cancelled(std::string message);
Status unimplemented(std::string message);
Status internal_error(std::string message);

/// A `T` or the `Status` that says why there is none. Member names are those of
/// `std::expected`, which GCC 12 does not have. Reading the wrong side is a bug.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Status& error() const& { return std::get<1>(state_); }
  Status&& error() && { return std::get<1>(std::move(state_)); }

  /// Success or the failure, without the value.
  Status status() const { return has_value() ? Status::ok() : error(); }

 private:
  std::variant<T, Status> state_;
};

namespace status_internal {
inline bool is_ok(const Status& status) {
  return status.is_ok();
}
inline Status take_error(Status&& status) {
  return std::move(status);
}
template <typename T>
bool is_ok(const Result<T>& result) {
  return result.has_value();
}
template <typename T>
Status take_error(Result<T>&& result) {
  return std::move(result).error();
}
}  // namespace status_internal

}  // namespace deepinfer

#define DI_STATUS_CONCAT_(a, b) a##b
#define DI_STATUS_CONCAT(a, b) DI_STATUS_CONCAT_(a, b)

/// `DI_TRY(expr);` — evaluates a `Status` or `Result` and returns its failure from the
/// enclosing function.
#define DI_TRY(expr)                                                            \
  do {                                                                          \
    auto di_try_value = (expr);                                                 \
    if (!::deepinfer::status_internal::is_ok(di_try_value)) {                   \
      return ::deepinfer::status_internal::take_error(std::move(di_try_value)); \
    }                                                                           \
  } while (false)

/// `DI_ASSIGN(auto x, expr);` — the value of a `Result`, or its failure returned from the
/// enclosing function.
#define DI_ASSIGN(declaration, expr) \
  DI_ASSIGN_IMPL_(DI_STATUS_CONCAT(di_result_, __LINE__), declaration, expr)
#define DI_ASSIGN_IMPL_(result, declaration, expr) \
  auto result = (expr);                            \
  if (!result.has_value()) {                       \
    return std::move(result).error();              \
  }                                                \
  declaration = std::move(result).value()
