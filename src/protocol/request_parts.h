#pragma once

/// Parts of a request that several protocols have in common: types checked, meaning not yet.

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/field_reader.h"
#include "recipe/chat.h"

namespace deepinfer::protocol {

struct RequestTool {
  std::string name;
  std::optional<std::string> description;
  /// Null if absent.
  Json parameters;
  std::optional<bool> strict;
  /// Declared only once a message refers to it.
  bool defer_loading = false;
};

enum class ThinkingType { kEnabled, kDisabled };

/// `thinking`: `{"type", "budget_tokens"}`.
struct RequestThinking {
  ThinkingType type = ThinkingType::kEnabled;
  std::optional<uint64_t> budget_tokens;
};

/// The effort as the client spells it.
enum class EffortName { kNone, kMinimal, kLow, kMedium, kHigh, kXhigh, kUltra, kMax };

struct RequestToolChoice {
  enum class Kind { kAuto, kNone, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;
  /// `disable_parallel_tool_use` of the Messages protocol.
  bool single_call = false;
};

struct RequestFormat {
  recipe::ResponseFormat kind = recipe::ResponseFormat::kText;
  Json schema;
  bool strict = false;
  std::string regex;
};

Status read_value(const Json& value, const ReadContext& context, RequestThinking& target);
Status read_value(const Json& value, const ReadContext& context, EffortName& target);

}  // namespace deepinfer::protocol
