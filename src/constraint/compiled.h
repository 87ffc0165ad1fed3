#pragma once

/// What a compiled constraint consists of. Private to this module.

#include <xgrammar/compiler.h>

#include <optional>
#include <vector>

#include "constraint/constraint.h"

namespace deepinfer::constraint {

struct CompiledConstraint::Impl {
  xgrammar::CompiledGrammar grammar;
  std::optional<TokenId> starts_after;
  std::vector<TokenId> banned_while_waiting;
  size_t size_bytes = 0;
};

}  // namespace deepinfer::constraint
