#pragma once

/// What the tools of a Responses request are called before the model, which knows no
/// namespaces, and what that means to the client.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocol/responses/responses_request.h"
#include "recipe/chat_encoder.h"

namespace deepinfer::protocol {

/// `a` of namespace `ns` is declared as `ns::a` (V4: `ns__a`), with `_1`, `_2` … behind it if
/// that name is taken. Keeps pointers into the request.
class ToolNames {
 public:
  ToolNames(const ResponsesRequest& request, recipe::Encoding encoding);

  /// The declared name of an inner tool of a namespace.
  const std::string& declared(const ResponsesTool& inner) const { return declared_.at(&inner); }
  /// The declared name of a function in earlier calls; one that is not declared gets a name of
  /// its own.
  const std::string& called(const std::string& space, const std::string& name);

 private:
  void reserve(const std::vector<ResponsesTool>& tools);
  void assign(const std::vector<ResponsesTool>& tools);
  std::string free_name(const std::string& space, const std::string& name);

  const recipe::Encoding encoding_;
  std::set<std::string> taken_;
  /// The last number behind a joined name, so that many equal names do not cost their square.
  std::map<std::string, int> tried_;
  std::map<const ResponsesTool*, std::string> declared_;
  /// By namespace and name; of several the first.
  std::map<std::pair<std::string, std::string>, std::string> called_;
};

/// How calls go back to the client, by the names the model uses.
struct CallNames {
  struct Function {
    std::string space;
    std::string name;
  };
  /// Functions of a namespace.
  std::map<std::string, Function, std::less<>> spaced;
  /// Tools with free text as input.
  std::set<std::string, std::less<>> custom;
  /// `tool_search` is the client's search.
  bool has_search = false;
};

inline constexpr std::string_view kToolSearch = "tool_search";

}  // namespace deepinfer::protocol
