#pragma once

/// Reads JSON objects by table: one row per member, its type taken from the field it fills.
/// Types are checked here, ranges at conversion (recipe spec §1, "Parse rules").

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/status.h"
#include "protocol/recipe_policy.h"
#include "recipe/json_reader.h"

namespace deepinfer::protocol {

using recipe::Json;

/// Where a value stands in the body, for errors.
struct ReadContext {
  const RecipePolicy& policy;
  std::string path;

  ReadContext member(std::string_view name) const {
    return {policy, path.empty() ? std::string(name) : path + "." + std::string(name)};
  }
  ReadContext item(size_t index) const {
    return {policy, path + "[" + std::to_string(index) + "]"};
  }
};

/// `path: expected <expected>, got <what came>`, with the path as param.
Status wrong_type(const ReadContext& context, std::string_view expected, const Json& value);

Status read_value(const Json& value, const ReadContext& context, bool& target);
/// A float as f32; beyond its range infinite, for the range check to find.
Status read_value(const Json& value, const ReadContext& context, float& target);
/// Integers: no fraction or exponent, within the machine range.
Status read_value(const Json& value, const ReadContext& context, uint8_t& target);
Status read_value(const Json& value, const ReadContext& context, uint32_t& target);
Status read_value(const Json& value, const ReadContext& context, uint64_t& target);
Status read_value(const Json& value, const ReadContext& context, int32_t& target);
Status read_value(const Json& value, const ReadContext& context, std::string& target);
/// Any value.
Status read_value(const Json& value, const ReadContext& context, Json& target);

template <typename T>
Status read_value(const Json& value, const ReadContext& context, std::optional<T>& target) {
  return read_value(value, context, target.emplace());
}

template <typename T>
Status read_value(const Json& value, const ReadContext& context, std::vector<T>& target) {
  if (!value.is_array()) {
    return wrong_type(context, "a list", value);
  }
  target.clear();
  target.reserve(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    DI_TRY(read_value(value[i], context.item(i), target.emplace_back()));
  }
  return Status::ok();
}

/// One of the given spellings.
template <typename T>
using Spellings = std::initializer_list<std::pair<std::string_view, T>>;

/// `expected one of a, b, c, got ...`
Status wrong_spelling(const ReadContext& context, const std::vector<std::string_view>& names,
                      const Json& value);

template <typename T>
Status read_enum(const Json& value, const ReadContext& context, Spellings<T> spellings, T& target) {
  std::vector<std::string_view> names;
  for (const auto& [name, meaning] : spellings) {
    if (value.is_string() && value.get_ref<const std::string&>() == name) {
      target = meaning;
      return Status::ok();
    }
    names.push_back(name);
  }
  return wrong_spelling(context, names, value);
}

enum class Presence {
  kOptional,  ///< null counts as absent
  kRequired,  ///< null reaches the reader, which refuses it or not
};

/// One row of a table: how the member `name` fills a `T`.
template <typename T>
struct Field {
  std::string_view name;
  Status (*read)(const Json& value, const ReadContext& context, T& target);
  Presence presence = Presence::kOptional;
  /// The row exists only under policies with this switch; otherwise the member is unknown.
  bool RecipePolicy::*when = nullptr;
};

template <typename Class, typename Value>
Class class_of(Value Class::*);

/// A row for the data member `M`.
template <auto M, typename Class = decltype(class_of(M))>
constexpr Field<Class> field(std::string_view name, Presence presence = Presence::kOptional,
                             bool RecipePolicy::*when = nullptr) {
  return {name,
          [](const Json& value, const ReadContext& context, Class& target) {
            return read_value(value, context, target.*M);
          },
          presence, when};
}

Status missing_member(const ReadContext& context, std::string_view name);

/// Reads the members of `object` named by `fields` into `target`; others are ignored.
template <typename T, size_t N>
Status read_members(const Json& object, const ReadContext& context, const Field<T> (&fields)[N],
                    T& target) {
  static_assert(N <= 64);
  if (!object.is_object()) {
    return wrong_type(context, "an object", object);
  }
  uint64_t seen = 0;
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) {
    size_t i = 0;
    while (i < N && fields[i].name != name) {
      ++i;
    }
    if (i == N || (fields[i].when != nullptr && !(context.policy.*fields[i].when))) {
      continue;
    }
    if (value.is_null() && fields[i].presence == Presence::kOptional) {
      continue;
    }
    seen |= uint64_t{1} << i;
    DI_TRY(fields[i].read(value, context.member(name), target));
  }
  for (size_t i = 0; i < N; ++i) {
    if (fields[i].presence == Presence::kRequired && (seen >> i & 1) == 0) {
      return missing_member(context, fields[i].name);
    }
  }
  return Status::ok();
}

/// A member the server understands but cannot honour.
struct UnsupportedMember {
  std::string_view name;
  /// JSON text of a value that asks for nothing, which is accepted; so is null.
  std::string_view harmless;
};

/// kInvalidArgument, reason `unsupported_parameter`, for the first of `members` that `body` asks
/// for.
Status refuse_unsupported(const Json& body, std::span<const UnsupportedMember> members);

}  // namespace deepinfer::protocol
