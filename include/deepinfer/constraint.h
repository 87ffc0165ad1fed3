#pragma once

/// What a request's output must look like: data only, for the engine to compile and enforce.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace deepinfer {

using TokenId = int32_t;

/// A tool the model may call.
struct ConstrainedTool {
  std::string name;
  /// JSON Schema of the arguments, an object.
  std::string parameters;
  /// False: what cannot be enforced in `parameters` is left free. True: it is refused.
  bool strict = false;

  bool operator==(const ConstrainedTool&) const = default;
};

/// How a model family writes calls; docs/recipe.md, "Output".
struct ToolCallMarkup {
  /// The control token behind every `<` and `</`. Only this id counts, never its spelling.
  TokenId marker = -1;
  /// What stands behind the marker in the tags of the whole block.
  std::string block;
  /// What stands behind it in the other tags, before their names.
  std::string space;

  bool operator==(const ToolCallMarkup&) const = default;
};

/// One constraint. Control tokens never match text of a schema, an expression or a grammar.
struct ConstraintSpec {
  enum class Kind {
    kJsonObject,  ///< Any JSON object.
    kJsonSchema,  ///< `text`: a JSON Schema.
    kRegex,       ///< `text`: an expression for the whole output.
    kGrammar,     ///< `text`: EBNF whose rule `root` is the whole output.
    kChoice,      ///< One of `choices`.
    kToolCalls,   ///< Calls of `tools`.
  };
  Kind kind = Kind::kJsonObject;
  std::string text;
  std::vector<std::string> choices;

  // Of kToolCalls.
  std::vector<ConstrainedTool> tools;
  ToolCallMarkup markup;
  /// False: free text, in which every call that is opened follows the grammar.
  bool call_required = true;
  /// Exactly one call, at most one if none is required.
  bool single_call = false;
  /// The prompt ends behind the block's opening tag.
  bool begins_in_block = false;

  /// The constraint begins behind the first of these tokens, and until then neither the end of
  /// the generation nor a call may come: the end of the reasoning. Absent: it begins at once.
  std::optional<TokenId> starts_after;
  /// The member of the request it comes from, named by a refusal.
  std::string param;

  bool operator==(const ConstraintSpec&) const = default;
};

}  // namespace deepinfer
