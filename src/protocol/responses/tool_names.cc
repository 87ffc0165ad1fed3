#include "protocol/responses/tool_names.h"

namespace deepinfer::protocol {

using Kind = ResponsesTool::Kind;

ToolNames::ToolNames(const ResponsesRequest& request, recipe::Encoding encoding)
    : encoding_(encoding) {
  std::vector<const std::vector<ResponsesTool>*> lists = {&request.tools};
  // V4 has no way to declare tools later.
  if (request.input_items && encoding != recipe::Encoding::kV4) {
    for (const InputItem& item : *request.input_items) {
      lists.push_back(&item.tools);
    }
  }
  for (const auto* tools : lists) {
    reserve(*tools);
  }
  for (const auto* tools : lists) {
    assign(*tools);
  }
}

void ToolNames::reserve(const std::vector<ResponsesTool>& tools) {
  for (const ResponsesTool& tool : tools) {
    if (tool.kind == Kind::kFunction || tool.kind == Kind::kCustom) {
      taken_.insert(tool.name);
    }
  }
}

void ToolNames::assign(const std::vector<ResponsesTool>& tools) {
  for (const ResponsesTool& space : tools) {
    if (space.kind != Kind::kNamespace) {
      continue;
    }
    for (const ResponsesTool& tool : space.tools) {
      std::string name = free_name(space.name, tool.name);
      called_.emplace(std::pair(space.name, tool.name), name);
      declared_.emplace(&tool, std::move(name));
    }
  }
}

std::string ToolNames::free_name(const std::string& space, const std::string& name) {
  const std::string joined = space + (encoding_ == recipe::Encoding::kV4 ? "__" : "::") + name;
  std::string result = joined;
  for (int& tried = tried_[joined]; !taken_.insert(result).second;) {
    result = joined + "_" + std::to_string(++tried);
  }
  return result;
}

const std::string& ToolNames::called(const std::string& space, const std::string& name) {
  const auto [at, added] = called_.try_emplace({space, name});
  if (added) {
    at->second = free_name(space, name);
  }
  return at->second;
}

}  // namespace deepinfer::protocol
