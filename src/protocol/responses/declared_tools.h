#pragma once

/// Tools of a Responses request, checked and flattened to functions.

#include <string>
#include <vector>

#include "protocol/conversion_steps.h"
#include "protocol/responses/tool_names.h"

namespace deepinfer::protocol {

/// All tools that the model may be told of, in order.
class DeclaredTools {
 public:
  DeclaredTools(const ConversionJob& job, const ToolNames& names) : job_(job), names_(names) {}

  /// Adds the tools of one list, which stands at `path`. Searched ones are declared where their
  /// search was answered, not at the start. The failure is that of the first wrong tool.
  Status add(const std::vector<ResponsesTool>& tools, const std::string& path, bool searched);

  const std::vector<RequestTool>& tools() const { return tools_; }
  CallNames& call_names() { return call_names_; }

 private:
  Status add_one(const ResponsesTool& tool, const std::string& path, bool searched);
  Status add_custom(const ResponsesTool& tool, const std::string& path, bool searched);
  Status add_namespace(const ResponsesTool& space, const std::string& path, bool searched);
  void declare(RequestTool tool, bool searched);

  const ConversionJob& job_;
  const ToolNames& names_;
  std::vector<RequestTool> tools_;
  CallNames call_names_;
};

}  // namespace deepinfer::protocol
