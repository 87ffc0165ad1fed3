#pragma once

/// From a constraint to a grammar of the library. Private to this module.

#include <xgrammar/grammar.h>
#include <xgrammar/tokenizer_info.h>

#include <string>

#include "constraint/schema_check.h"
#include "deepinfer/constraint.h"
#include "deepinfer/status.h"

namespace deepinfer::constraint {

/// White space that may stand between two tokens of JSON.
inline constexpr int kMaxWhitespace = 2;

/// EBNF of the JSON values that `schema`, which was checked, allows. Throws what the library
/// throws.
std::string json_grammar_text(const Json& schema);

/// The structural tag of the calls of `spec`: markup, names and typed parameters.
Result<std::string> tool_calls_tag(const ConstraintSpec& spec, const SchemaLimits& limits);

/// The grammar of `spec`. Throws what the library throws.
Result<xgrammar::Grammar> build_grammar(const ConstraintSpec& spec, const SchemaLimits& limits,
                                        const xgrammar::TokenizerInfo& tokens);

}  // namespace deepinfer::constraint
