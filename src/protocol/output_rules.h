#pragma once

/// What the protocols share in turning model output into messages.

#include <string>

#include "protocol/recipe_policy.h"
#include "recipe/output_parser.h"

namespace deepinfer::protocol {

recipe::OutputRules output_rules(const RecipePolicy& policy);

/// A new id for the call at `index`: `call_NN_`, `ET_` for one that thinking sent no text
/// before, 20 letters or digits, 4 digits (recipe spec §8).
std::string new_call_id(int32_t index, bool empty_thinking);

}  // namespace deepinfer::protocol
