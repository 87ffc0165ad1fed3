#include "protocol/responses/declared_tools.h"

#include <set>
#include <utility>

#include "protocol/responses/apply_patch_tool.h"
#include "protocol/tool_schema.h"

namespace deepinfer::protocol {
namespace {

using Kind = ResponsesTool::Kind;

RequestTool function_of(const ResponsesTool& tool) {
  return {.name = tool.name,
          .description = tool.description,
          .parameters = tool.parameters,
          .strict = tool.strict};
}

/// A custom tool as a function with one parameter; its grammar is explained in words.
RequestTool as_function(const ResponsesTool& tool) {
  std::string description = tool.description.value_or(std::string());
  if (tool.format.is_object() && tool.format.value("type", Json()) == "grammar") {
    const Json syntax = tool.format.value("syntax", Json());
    const Json definition = tool.format.value("definition", Json());
    if (syntax.is_string() && definition.is_string()) {
      description += description.empty() ? "" : "\n\n";
      description += "The input must match this " + syntax.get<std::string>() + " grammar:\n" +
                     definition.get<std::string>();
    }
  }
  return {.name = tool.name,
          .description = std::move(description),
          .parameters = {{"type", "object"},
                         {"properties", {{"input", {{"type", "string"}}}}},
                         {"required", {"input"}}}};
}

}  // namespace

Status DeclaredTools::add(const std::vector<ResponsesTool>& tools, const std::string& path,
                          bool searched) {
  for (size_t i = 0; i < tools.size(); ++i) {
    DI_TRY(add_one(tools[i], item_of(path, i), searched));
  }
  return Status::ok();
}

Status DeclaredTools::add_one(const ResponsesTool& tool, const std::string& path, bool searched) {
  switch (tool.kind) {
    case Kind::kFunction:
      DI_TRY(check_tool_name(tool.name, path + ".name"));
      declare(function_of(tool), searched);
      return Status::ok();
    case Kind::kCustom:
      return add_custom(tool, path, searched);
    case Kind::kNamespace:
      return add_namespace(tool, path, searched);
    case Kind::kToolSearch:
      if (tool.is_client_search() && !searched) {
        call_names_.has_search = true;
      }
      if (tool.is_client_search() && job_.out.encoding != recipe::Encoding::kV4) {
        RequestTool search = function_of(tool);
        search.name = kToolSearch;
        declare(std::move(search), searched);
      }
      return Status::ok();
    case Kind::kWebSearch:
      return job_.options.reject_responses_web_search
                 ? refuse_member(path, "Server tools are not supported")
                 : Status::ok();
    case Kind::kUnknown:
      break;
  }
  if (!job_.policy.refuse_unknown_tools) {
    return Status::ok();
  }
  return unsupported_member(path + ".type", "A tool of type `" + tool.type + "`");
}

Status DeclaredTools::add_custom(const ResponsesTool& tool, const std::string& path,
                                 bool searched) {
  const bool known = tool.name == kApplyPatch;
  if (!known && !job_.policy.custom_tools) {
    return refuse_member(path + ".name", "Unsupported custom tool: '" + tool.name +
                                             "'. Only 'apply_patch' is supported.");
  }
  DI_TRY(check_tool_name(tool.name, path + ".name"));
  call_names_.custom.insert(tool.name);
  declare(known ? apply_patch_tool(job_.out.encoding) : as_function(tool), searched);
  return Status::ok();
}

Status DeclaredTools::add_namespace(const ResponsesTool& space, const std::string& path,
                                    bool searched) {
  DI_TRY(check_tool_name(space.name, path + ".name"));
  std::set<std::string_view> inner_names;
  const bool described = job_.out.encoding != recipe::Encoding::kV4 &&
                         space.description.has_value() && !space.description->empty();
  for (size_t i = 0; i < space.tools.size(); ++i) {
    const ResponsesTool& tool = space.tools[i];
    const std::string place = item_of(path + ".tools", i);
    if (tool.kind == Kind::kCustom) {
      return refuse_member(place,
                           "Currently custom tools are not allowed inside a namespace. "
                           "Found custom tool '" +
                               tool.name + "' in " + place + ".");
    }
    DI_TRY(check_tool_name(tool.name, place + ".name"));
    if (!inner_names.insert(tool.name).second) {
      return refuse_member(place, "Tool names within a namespace must be unique.");
    }
    RequestTool function = function_of(tool);
    function.name = names_.declared(tool);
    if (described) {
      function.description = *space.description + "\n" + tool.description.value_or(std::string());
    }
    if (!searched || job_.policy.searched_namespaces) {
      call_names_.spaced.emplace(function.name, CallNames::Function{space.name, tool.name});
    }
    declare(std::move(function), searched);
  }
  return Status::ok();
}

void DeclaredTools::declare(RequestTool tool, bool searched) {
  tool.defer_loading = searched;
  tools_.push_back(std::move(tool));
}

}  // namespace deepinfer::protocol
