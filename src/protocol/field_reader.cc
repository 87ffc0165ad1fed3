#include "protocol/field_reader.h"

#include <cmath>
#include <limits>

namespace deepinfer::protocol {
namespace {

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

/// Short values are quoted, so that the reader sees what was wrong with them.
std::string describe(const Json& value) {
  constexpr size_t kMaxShown = 40;
  std::string text(kind_of(value));
  if (value.is_number() || value.is_boolean() ||
      (value.is_string() && value.get_ref<const std::string&>().size() <= kMaxShown)) {
    text += " (" + value.dump() + ")";
  }
  return text;
}

Status at(const ReadContext& context, std::string message) {
  const std::string where = context.path.empty() ? "request body" : "`" + context.path + "`";
  return invalid_argument(where + ": " + std::move(message)).with_param(context.path);
}

template <typename Int>
Status read_integer(const Json& value, const ReadContext& context, Int& target) {
  using Limits = std::numeric_limits<Int>;
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number <= static_cast<uint64_t>(Limits::max())) {
      target = static_cast<Int>(number);
      return Status::ok();
    }
  } else if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    if (Limits::is_signed && number >= static_cast<int64_t>(Limits::min())) {
      target = static_cast<Int>(number);
      return Status::ok();
    }
  }
  return wrong_type(context,
                    "an integer in [" + std::to_string(Limits::min()) + ", " +
                        std::to_string(Limits::max()) + "]",
                    value);
}

}  // namespace

Status wrong_type(const ReadContext& context, std::string_view expected, const Json& value) {
  return at(context, "expected " + std::string(expected) + ", got " + describe(value));
}

Status wrong_spelling(const ReadContext& context, const std::vector<std::string_view>& names,
                      const Json& value) {
  std::string expected = "one of ";
  for (size_t i = 0; i < names.size(); ++i) {
    expected += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return wrong_type(context, expected, value);
}

Status missing_member(const ReadContext& context, std::string_view name) {
  return at(context.member(name), "is required");
}

Status read_value(const Json& value, const ReadContext& context, bool& target) {
  if (!value.is_boolean()) {
    return wrong_type(context, "true or false", value);
  }
  target = value.get<bool>();
  return Status::ok();
}

Status read_value(const Json& value, const ReadContext& context, float& target) {
  if (!value.is_number()) {
    return wrong_type(context, "a number", value);
  }
  const auto number = value.get<double>();
  const bool fits = std::fabs(number) <= static_cast<double>(std::numeric_limits<float>::max());
  target = fits ? static_cast<float>(number)
                : std::copysign(std::numeric_limits<float>::infinity(), number > 0 ? 1.0F : -1.0F);
  return Status::ok();
}

Status read_value(const Json& value, const ReadContext& context, uint8_t& target) {
  return read_integer(value, context, target);
}
Status read_value(const Json& value, const ReadContext& context, uint32_t& target) {
  return read_integer(value, context, target);
}
Status read_value(const Json& value, const ReadContext& context, uint64_t& target) {
  return read_integer(value, context, target);
}
Status read_value(const Json& value, const ReadContext& context, int32_t& target) {
  return read_integer(value, context, target);
}

Status read_value(const Json& value, const ReadContext& context, std::string& target) {
  if (!value.is_string()) {
    return wrong_type(context, "a string", value);
  }
  target = value.get_ref<const std::string&>();
  return Status::ok();
}

Status read_value(const Json& value, const ReadContext&, Json& target) {
  target = value;
  return Status::ok();
}

Status refuse_unsupported(const Json& body, std::span<const UnsupportedMember> members) {
  for (const UnsupportedMember& row : members) {
    const auto at = body.find(row.name);
    if (at == body.end() || at->is_null() || *at == Json::parse(row.harmless)) {
      continue;
    }
    const std::string name(row.name);
    std::string message = "`";
    message += name + "` is not supported by this version of the server";
    return invalid_argument(std::move(message))
        .with_param(name)
        .with_reason("unsupported_parameter");
  }
  return Status::ok();
}

}  // namespace deepinfer::protocol
