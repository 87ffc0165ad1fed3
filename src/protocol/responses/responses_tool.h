#pragma once

/// Tools as Responses requests declare them.

#include <optional>
#include <string>
#include <vector>

#include "protocol/field_reader.h"

namespace deepinfer::protocol {

struct ResponsesTool {
  enum class Kind { kFunction, kCustom, kNamespace, kToolSearch, kWebSearch, kUnknown };
  /// Of a web search.
  struct Location {
    std::optional<std::string> city;
    std::optional<std::string> country;
    std::optional<std::string> region;
    std::optional<std::string> timezone;
  };

  Kind kind = Kind::kUnknown;
  /// `type` as spelled.
  std::string type;
  std::string name;
  std::optional<std::string> description;
  /// Null if absent.
  Json parameters;
  std::optional<bool> strict;
  /// Of a custom tool: the form of its input.
  Json format;
  /// Of a namespace.
  std::vector<ResponsesTool> tools;
  /// Of a tool search: `client` or `server`.
  std::optional<std::string> execution;
  std::optional<std::string> search_context_size;
  std::optional<Location> user_location;

  /// A search that the client runs, which the model is told of.
  bool is_client_search() const { return kind == Kind::kToolSearch && execution == "client"; }
};

Status read_value(const Json& value, const ReadContext& context, ResponsesTool& target);

/// The tools as a list in JSON, with all members of their kinds and no others; tools of unknown
/// kinds are left out.
std::string tools_json(const std::vector<ResponsesTool>& tools);
/// The same with each namespace's functions in its place, marked as of that namespace.
std::string flat_tools_json(const std::vector<ResponsesTool>& tools);

}  // namespace deepinfer::protocol
