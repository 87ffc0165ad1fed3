#include "constraint/grammar_builder.h"

#include <spdlog/fmt/fmt.h>

#include <variant>

#include "constraint/pattern_check.h"

namespace deepinfer::constraint {
namespace {

constexpr size_t kMaxGrammarBytes = size_t{64} * 1024;
constexpr size_t kMaxChoices = 4096;

/// `text` as a literal of EBNF.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// The library takes the characters of a string of bounded length for any but these; JSON forbids
/// the other control characters as well.
void forbid_control_characters(std::string& grammar) {
  constexpr std::string_view kLoose = R"([^\"\\\r\n])";
  constexpr std::string_view kExact = R"([^\"\\\x00-\x1f])";
  for (size_t at = grammar.find(kLoose); at != std::string::npos;
       at = grammar.find(kLoose, at + kExact.size())) {
    grammar.replace(at, kLoose.size(), kExact);
  }
}

Result<std::string> schema_grammar(std::string_view text, const SchemaLimits& limits) {
  DI_ASSIGN(Json schema, parse_schema(text, limits));
  close_objects(schema);
  DI_TRY(check_schema(schema, limits));
  return json_grammar_text(schema);
}

Result<std::string> choice_grammar(const ConstraintSpec& spec) {
  if (spec.choices.empty() || spec.choices.size() > kMaxChoices) {
    return invalid_argument(
        fmt::format("expected 1 to {} choices, got {}", kMaxChoices, spec.choices.size()));
  }
  std::string grammar = "root ::= ";
  for (const std::string& choice : spec.choices) {
    if (choice.empty() || choice.find('\0') != std::string::npos) {
      return invalid_argument("a choice must be text without NUL characters, and not empty");
    }
    grammar += (grammar.back() == '"' ? " | " : "") + literal(choice);
  }
  return grammar;
}

}  // namespace

std::string json_grammar_text(const Json& schema) {
  std::string grammar =
      xgrammar::Grammar::FromJSONSchema(schema.dump(), /*any_whitespace=*/true, std::nullopt,
                                        std::nullopt, /*strict_mode=*/false, kMaxWhitespace)
          .ToString();
  forbid_control_characters(grammar);
  return grammar;
}

Result<xgrammar::Grammar> build_grammar(const ConstraintSpec& spec, const SchemaLimits& limits,
                                        const xgrammar::TokenizerInfo& tokens) {
  using Kind = ConstraintSpec::Kind;
  switch (spec.kind) {
    case Kind::kJsonObject: {
      DI_ASSIGN(const std::string grammar, schema_grammar(R"({"type":"object"})", limits));
      return xgrammar::Grammar::FromEBNF(grammar);
    }
    case Kind::kJsonSchema: {
      DI_ASSIGN(const std::string grammar, schema_grammar(spec.text, limits));
      return xgrammar::Grammar::FromEBNF(grammar);
    }
    case Kind::kRegex:
      DI_TRY(check_pattern(spec.text, limits.max_pattern_bytes));
      return xgrammar::Grammar::FromRegex(spec.text);
    case Kind::kGrammar:
      DI_TRY(check_grammar_text(spec.text, kMaxGrammarBytes));
      return xgrammar::Grammar::FromEBNF(spec.text);
    case Kind::kChoice: {
      DI_ASSIGN(const std::string grammar, choice_grammar(spec));
      return xgrammar::Grammar::FromEBNF(grammar);
    }
    case Kind::kToolCalls: {
      DI_ASSIGN(const std::string tag, tool_calls_tag(spec, limits));
      auto grammar = xgrammar::Grammar::FromStructuralTag(tag, tokens);
      if (auto* error = std::get_if<xgrammar::StructuralTagError>(&grammar)) {
        return invalid_argument(
            std::visit([](const auto& what) { return std::string(what.what()); }, *error));
      }
      return std::get<xgrammar::Grammar>(std::move(grammar));
    }
  }
  return internal_error("unknown kind of constraint");
}

}  // namespace deepinfer::constraint
