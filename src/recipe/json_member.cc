#include "recipe/json_member.h"

namespace deepinfer::recipe {
namespace {

const nlohmann::json kNull;

std::string member_path(const std::string& where, std::string_view name) {
  return where.empty() ? std::string(name) : where + "." + std::string(name);
}

}  // namespace

Status wrong_member(const std::string& where, std::string_view expected,
                    const nlohmann::json& value) {
  return failed_precondition(where + ": expected " + std::string(expected) + ", got " +
                             (value.is_null() ? "nothing" : value.type_name()));
}

const nlohmann::json& member_or_null(const nlohmann::json& object, std::string_view name) {
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

Result<std::string> string_member(const nlohmann::json& object, std::string_view name,
                                  const std::string& where) {
  const nlohmann::json& value = member_or_null(object, name);
  if (!value.is_string()) return wrong_member(member_path(where, name), "a string", value);
  return value.get<std::string>();
}

Result<bool> bool_member(const nlohmann::json& object, std::string_view name,
                         const std::string& where, bool fallback) {
  const nlohmann::json& value = member_or_null(object, name);
  if (value.is_null()) return fallback;
  if (!value.is_boolean()) return wrong_member(member_path(where, name), "true or false", value);
  return value.get<bool>();
}

}  // namespace deepinfer::recipe
