#include "protocol/prepared_prompt.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protocol/conversion_steps.h"

namespace deepinfer::protocol {

namespace {

/// None for prompts that do not end inside reasoning, whatever the client asks for.
std::optional<ThinkingLimit> thinking_limit(const ConvertedRequest& converted,
                                            const recipe::Recipe& recipe) {
  const recipe::ThinkingStage stage = converted.parsing.thinking_initial_stage;
  const bool open = stage == recipe::ThinkingStage::kReasoningStart ||
                    stage == recipe::ThinkingStage::kReasoningContinuation;
  const TokenId close = recipe.control().think_end;
  if (!converted.thinking_budget || !open || close == recipe::ControlTokens::kNone) {
    return std::nullopt;
  }
  return ThinkingLimit{
      .max_tokens = static_cast<int32_t>(std::min<uint64_t>(*converted.thinking_budget, INT32_MAX)),
      .close_token = close};
}

}  // namespace

ConversionOptions served_options(const ServiceInfo& info, const recipe::Recipe& recipe) {
  ConversionOptions options;
  options.repeat_open_reasoning = info.repeat_open_reasoning;
  options.models.clear();
  for (const std::string& name : info.model_names) {
    options.models.emplace(name, recipe.encoding());
  }
  return options;
}

Result<std::vector<TokenId>> encode_prompt(const ConvertedRequest& converted,
                                           const ServiceInfo& info, const recipe::Recipe& recipe,
                                           const RecipePolicy& policy) {
  // No byte-level vocabulary in use has longer tokens; a bound too high only costs time.
  constexpr uint64_t kMaxTokenBytes = 256;
  const recipe::RenderedPrompt prompt = recipe.render(converted.conversation);
  const auto context = static_cast<uint64_t>(info.model.max_model_len);
  const uint64_t least_tokens = prompt.text.size() / kMaxTokenBytes;
  if (least_tokens > context) {
    DI_TRY(resolve_max_tokens(converted, least_tokens, context, policy).status());
  }
  return recipe.encode(prompt);
}

Status fill_prompt(const ConvertedRequest& converted, const ServiceInfo& info,
                   const recipe::Recipe& recipe, const RecipePolicy& policy,
                   GenerateRequest& target) {
  DI_ASSIGN(target.prompt, encode_prompt(converted, info, recipe, policy));
  DI_ASSIGN(const uint32_t max_tokens,
            resolve_max_tokens(converted, target.prompt.size(),
                               static_cast<uint64_t>(info.model.max_model_len), policy));
  target.max_tokens = static_cast<int32_t>(std::min<uint32_t>(max_tokens, INT32_MAX));
  if (!converted.options.max_tokens && info.default_max_tokens > 0) {
    target.max_tokens = std::min(target.max_tokens, info.default_max_tokens);
  }
  target.sampling.thinking_limit = thinking_limit(converted, recipe);
  DI_ASSIGN(target.constraint, complete_constraint(converted, recipe));
  return Status::ok();
}

Result<std::optional<ConstraintSpec>> complete_constraint(const ConvertedRequest& converted,
                                                          const recipe::Recipe& recipe) {
  std::optional<ConstraintSpec> spec = converted.constraint;
  if (!spec) {
    return spec;
  }
  const recipe::ControlTokens& control = recipe.control();
  using recipe::ThinkingStage;
  const ThinkingStage stage = converted.parsing.thinking_initial_stage;
  const bool reasons =
      stage == ThinkingStage::kReasoningStart || stage == ThinkingStage::kReasoningContinuation;
  const bool calls = spec->kind == ConstraintSpec::Kind::kToolCalls;
  if ((reasons && control.think_end < 0) || (calls && control.dsml < 0)) {
    return unsupported_member(spec->param, "`" + spec->param +
                                               "` for a tokenizer without the model's control "
                                               "tokens");
  }
  if (reasons) {
    spec->starts_after = control.think_end;
  }
  if (calls) {
    spec->markup = recipe::call_markup(recipe.encoding(), control.dsml);
  }
  return spec;
}

std::vector<TokenId> end_tokens(const ServiceInfo& info, const GenerateRequest& request) {
  std::vector<TokenId> ends = info.model.eos_token_ids;
  ends.insert(ends.end(), request.stop_token_ids.begin(), request.stop_token_ids.end());
  return ends;
}

}  // namespace deepinfer::protocol
