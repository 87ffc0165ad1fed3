#pragma once

/// From a converted request to the engine's prompt and limits; the same for every protocol.

#include <cstdint>
#include <optional>
#include <vector>

#include "deepinfer/request.h"
#include "deepinfer/status.h"
#include "protocol/completion.h"
#include "protocol/conversion.h"
#include "recipe/recipe.h"

namespace deepinfer::protocol {

/// Conversion options of a server: its model names, all with the recipe's encoding.
ConversionOptions served_options(const ServiceInfo& info, const recipe::Recipe& recipe);

/// Ids of the prompt. Text so long that it cannot fit is refused without tokenizing it.
Result<std::vector<TokenId>> encode_prompt(const ConvertedRequest& converted,
                                           const ServiceInfo& info, const recipe::Recipe& recipe,
                                           const RecipePolicy& policy);

/// The request's constraint with the ids of the recipe's control tokens. kInvalidArgument if the
/// tokenizer lacks one that it needs.
Result<std::optional<ConstraintSpec>> complete_constraint(const ConvertedRequest& converted,
                                                          const recipe::Recipe& recipe);

/// Fills in the prompt, the limits of output and reasoning, and the constraint.
Status fill_prompt(const ConvertedRequest& converted, const ServiceInfo& info,
                   const recipe::Recipe& recipe, const RecipePolicy& policy,
                   GenerateRequest& target);

/// Tokens that end a generation and are no part of its text.
std::vector<TokenId> end_tokens(const ServiceInfo& info, const GenerateRequest& request);

}  // namespace deepinfer::protocol
