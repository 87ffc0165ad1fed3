// The grammar of tool calls, as a structural tag: a tree of literals, control tokens and values.
//
//   <M BLOCK>⏎  then for every call  <M SPACE invoke name="NAME">⏎ parameters </M SPACE invoke>⏎
//   then  </M BLOCK>         M: the marker, matched by its id
//   parameter:  <M SPACE parameter name="KEY" string="true">TEXT</M SPACE parameter>⏎
//               <M SPACE parameter name="KEY" string="false">JSON</M SPACE parameter>⏎
//
// Whether `string` is true or false follows from the declared type; where a schema allows both,
// each kind of value carries its own.

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include "constraint/grammar_builder.h"

namespace deepinfer::constraint {
namespace {

constexpr size_t kMaxTools = 512;
constexpr size_t kMaxNameBytes = 256;

Json text(std::string value) {
  return {{"type", "const_string"}, {"value", std::move(value)}};
}
Json sequence(Json elements) {
  return {{"type", "sequence"}, {"elements", std::move(elements)}};
}
Json one_of(Json elements) {
  return elements.size() == 1 ? Json(elements[0])
                              : Json{{"type", "or"}, {"elements", std::move(elements)}};
}
Json optional(Json content) {
  return {{"type", "optional"}, {"content", std::move(content)}};
}
Json grammar(std::string ebnf) {
  return {{"type", "grammar"}, {"grammar", std::move(ebnf)}};
}

bool is_string_type(const Json& node) {
  const auto type = node.find("type");
  return type != node.end() && *type == "string";
}

/// The schemas of the values that one parameter may have, each of one JSON type.
struct Leaves {
  std::vector<Json> strings;
  std::vector<Json> others;
  /// Anything at all.
  bool any = false;
};

/// Takes unions, references and mixed lists of values apart.
class LeafFinder {
 public:
  explicit LeafFinder(const Json& root) : root_(root) {}

  Leaves find(const Json& node) {
    visit(node);
    return std::move(leaves_);
  }

 private:
  void visit(const Json& node) {
    if (!node.is_object()) {
      leaves_.any = true;
      return;
    }
    if (const auto target = node.find("$ref"); target != node.end()) {
      visit_reference(target->get<std::string>());
    } else if (node.contains("const")) {
      visit_value(node["const"]);
    } else if (node.contains("enum")) {
      std::for_each(node["enum"].begin(), node["enum"].end(),
                    [&](const Json& value) { visit_value(value); });
    } else if (!visit_union(node)) {
      visit_typed(node);
    }
  }

  void visit_reference(const std::string& uri) {
    // A reference that leads back to itself allows nothing that was not found already.
    if (seen_.insert(uri).second) {
      visit(uri == "#" ? root_ : root_.at(Json::json_pointer(uri.substr(1))));
    }
  }

  void visit_value(const Json& value) {
    (value.is_string() ? leaves_.strings : leaves_.others).push_back(Json{{"const", value}});
  }

  bool visit_union(const Json& node) {
    for (const std::string_view name : {"anyOf", "oneOf", "allOf"}) {
      if (const auto options = node.find(name); options != node.end()) {
        std::for_each(options->begin(), options->end(), [&](const Json& option) { visit(option); });
        return true;
      }
    }
    return false;
  }

  void visit_typed(const Json& node) {
    const auto type = node.find("type");
    if (type == node.end()) {
      const bool typed = node.contains("properties") || node.contains("additionalProperties") ||
                         node.contains("items") || node.contains("prefixItems");
      typed ? leaves_.others.push_back(node) : void(leaves_.any = true);
      return;
    }
    if (!type->is_array()) {
      (is_string_type(node) ? leaves_.strings : leaves_.others).push_back(node);
      return;
    }
    for (const Json& name : *type) {
      Json single = node;
      single["type"] = name;
      visit_typed(single);
    }
  }

  const Json& root_;
  Leaves leaves_;
  std::set<std::string> seen_;
};

/// Builds the tag of one request.
class TagBuilder {
 public:
  TagBuilder(const ConstraintSpec& spec, const SchemaLimits& limits)
      : spec_(spec), limits_(limits), marker_{{"type", "token"}, {"token", spec.markup.marker}} {}

  Result<Json> build() {
    DI_ASSIGN(const Json calls, all_calls());
    Json block = Json::array();
    block.push_back(calls);
    block.push_back(text("</"));
    block.push_back(marker_);
    block.push_back(text(fmt::format("{}>", spec_.markup.block)));
    if (spec_.begins_in_block) {
      return sequence(std::move(block));
    }
    block.insert(block.begin(), text(fmt::format("{}>\n", spec_.markup.block)));
    if (!spec_.call_required) {
      return Json{{"type", "token_dispatch"},
                  {"rules", Json::array({Json::array({spec_.markup.marker, sequence(block)})})},
                  {"loop", false}};
    }
    block.insert(block.begin(), marker_);
    block.insert(block.begin(), text("<"));
    block.insert(block.begin(), grammar("root ::= [\\n]{0,2}"));
    return sequence(std::move(block));
  }

 private:
  Result<Json> all_calls() {
    if (spec_.tools.empty() || spec_.tools.size() > kMaxTools) {
      return invalid_argument(
          fmt::format("expected 1 to {} tools, got {}", kMaxTools, spec_.tools.size()));
    }
    Json calls = Json::array();
    for (const ConstrainedTool& tool : spec_.tools) {
      auto made = call(tool);
      if (!made) {
        return std::move(made).error().with_context(fmt::format("tool `{}`", tool.name));
      }
      calls.push_back(*std::move(made));
    }
    const Json line = sequence(Json::array({one_of(std::move(calls)), text("\n")}));
    return spec_.single_call ? line : Json{{"type", "plus"}, {"content", line}};
  }

  Json open_tag(const std::string& words) const {
    return sequence(
        Json::array({text("<"), marker_, text(fmt::format("{}{}", spec_.markup.space, words))}));
  }
  Json close_tag(const std::string& words) const {
    return sequence(
        Json::array({text("</"), marker_, text(fmt::format("{}{}", spec_.markup.space, words))}));
  }

  Result<Json> call(const ConstrainedTool& tool) {
    if (tool.name.find_first_of("\"<>\n") != std::string::npos ||
        tool.name.size() > kMaxNameBytes) {
      return invalid_argument("its name cannot be written in a call");
    }
    DI_ASSIGN(Json root, parse_schema(tool.parameters, limits_));
    close_objects(root);
    if (tool.strict) {
      DI_TRY(check_schema(root, limits_));
    }
    Json parts = Json::array();
    parts.push_back(open_tag(fmt::format("invoke name=\"{}\">\n", tool.name)));
    DI_ASSIGN(const bool free_names, parameters(tool, root, parts));
    if (parts.size() == 1 && !free_names) {
      parts.push_back(optional(text("\n")));
    }
    parts.push_back(close_tag("invoke>"));
    return sequence(std::move(parts));
  }

  /// Adds the parameters in the order of their declaration. True if any others may follow.
  Result<bool> parameters(const ConstrainedTool& tool, const Json& root, Json& parts) {
    const auto properties = root.find("properties");
    const bool declared = properties != root.end() && properties->is_object();
    const auto required = root.find("required");
    if (declared) {
      for (const auto& [name, schema] : properties->items()) {
        const bool needed = required != root.end() && required->is_array() &&
                            std::find(required->begin(), required->end(), name) != required->end();
        auto made = parameter(tool, root, name, schema);
        if (!made) {
          return std::move(made).error().with_context(fmt::format("parameter `{}`", name));
        }
        parts.push_back(needed ? *std::move(made) : optional(*std::move(made)));
      }
    }
    const auto additional = root.find("additionalProperties");
    const bool free_names =
        (!declared || properties->empty()) && additional != root.end() && *additional != false;
    if (free_names) {
      parts.push_back(free_parameters(*additional, root));
    }
    return free_names;
  }

  Json free_parameters(const Json& schema, const Json& root) {
    Json parts = Json::array();
    parts.push_back(open_tag("parameter name=\""));
    parts.push_back(grammar("root ::= [a-zA-Z0-9_.-]{1,64}"));
    parts.push_back(values(root, schema));
    return {{"type", "star"}, {"content", sequence(std::move(parts))}};
  }

  Result<Json> parameter(const ConstrainedTool& tool, const Json& root, const std::string& name,
                         const Json& schema) {
    if (name.empty() || name.size() > kMaxNameBytes ||
        name.find_first_of(std::string_view("\" \n<>\\\0", 7)) != std::string::npos) {
      return invalid_argument("its name cannot be written in a call");
    }
    // Without `strict` the types that can be enforced are, and what cannot be is left free.
    const bool enforced =
        tool.strict ||
        check_subschema(root, schema, fmt::format("#/properties/{}", name), limits_).is_ok();
    return sequence(Json::array({open_tag(fmt::format("parameter name=\"{}", name)),
                                 enforced ? values(root, schema) : any_values()}));
  }

  /// What stands behind a parameter's name.
  Json values(const Json& root, const Json& schema) {
    const Leaves leaves = LeafFinder(root).find(schema);
    if (leaves.any) {
      return any_values();
    }
    Json strings = Json::array();
    for (const Json& leaf : leaves.strings) {
      strings.push_back(raw_string(leaf));
    }
    Json others = Json::array();
    for (const Json& leaf : leaves.others) {
      Json document = root;
      document["$leaf"] = leaf;
      document["$ref"] = "#/$leaf";
      others.push_back(grammar(json_grammar_text(document)));
    }
    return kinds(std::move(strings), std::move(others));
  }

  Json any_values() const {
    const Json others = {{"type", {"number", "boolean", "null", "array", "object"}}};
    return kinds(Json::array({grammar("root ::= [^]*")}),
                 Json::array({grammar(json_grammar_text(others))}));
  }

  Json kinds(Json strings, Json others) const {
    Json result = Json::array();
    for (auto& [attribute, options] : {std::pair("true", &strings), std::pair("false", &others)}) {
      if (!options->empty()) {
        result.push_back(
            sequence(Json::array({text(fmt::format("\" string=\"{}\">", attribute)),
                                  one_of(std::move(*options)), close_tag("parameter>\n")})));
      }
    }
    return one_of(std::move(result));
  }

  /// A string as it stands, without quotes and escapes. It ends at the next marker.
  Json raw_string(const Json& leaf) const {
    if (const auto value = leaf.find("const"); value != leaf.end()) {
      return text(value->get<std::string>());
    }
    if (const auto pattern = leaf.find("pattern"); pattern != leaf.end()) {
      return {{"type", "regex"}, {"pattern", *pattern}};
    }
    if (leaf.contains("format")) {
      return grammar(unquoted(json_grammar_text(leaf)));
    }
    const auto bound = [&](const char* name, const std::string& otherwise) {
      const auto count = leaf.find(name);
      return count == leaf.end() ? otherwise : std::to_string(count->get<int64_t>());
    };
    return grammar(
        leaf.contains("minLength") || leaf.contains("maxLength")
            ? fmt::format("root ::= [^]{{{},{}}}", bound("minLength", "0"), bound("maxLength", ""))
            : "root ::= [^]*");
  }

  /// The grammar of a JSON string without its quotes. Throws if the library writes it otherwise.
  static std::string unquoted(const std::string& ebnf) {
    constexpr std::string_view kHead = "\nroot ::= ((\"\\\"\" ";
    constexpr std::string_view kTail = " \"\\\"\"))\n";
    const size_t head = ebnf.find(kHead);
    const size_t tail = head == std::string::npos ? head : ebnf.find(kTail, head);
    if (tail == std::string::npos || tail != ebnf.find('\n', head + 1) + 1 - kTail.size()) {
      throw std::runtime_error("`format` cannot be enforced in a parameter");
    }
    const std::string_view all = ebnf;
    const size_t body = head + kHead.size();
    return fmt::format("{}\nroot ::= {}\n{}", all.substr(0, head), all.substr(body, tail - body),
                       all.substr(tail + kTail.size()));
  }

  const ConstraintSpec& spec_;
  const SchemaLimits& limits_;
  const Json marker_;
};

}  // namespace

Result<std::string> tool_calls_tag(const ConstraintSpec& spec, const SchemaLimits& limits) {
  if (spec.markup.marker < 0) {
    return invalid_argument("the model has no control token for calls");
  }
  DI_ASSIGN(const Json format, TagBuilder(spec, limits).build());
  return Json{{"type", "structural_tag"}, {"format", format}}.dump();
}

}  // namespace deepinfer::constraint
