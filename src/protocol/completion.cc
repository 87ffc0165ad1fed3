#include "protocol/completion.h"

#include <memory>
#include <utility>

#include "protocol/chat/chat_assembler.h"
#include "protocol/chat/chat_request.h"
#include "protocol/conversion.h"
#include "protocol/engine_request.h"
#include "protocol/prepared_prompt.h"
#include "protocol/recipe_policy.h"

namespace deepinfer::protocol {
namespace {

Status set_min_tokens(const ChatRequest& request, GenerateRequest& target) {
  const uint32_t min_tokens = request.min_tokens.value_or(0);
  if (min_tokens > static_cast<uint32_t>(target.max_tokens)) {
    return invalid_argument("`min_tokens` must be at most the output limit " +
                            std::to_string(target.max_tokens) + ", got " +
                            std::to_string(min_tokens))
        .with_param("min_tokens");
  }
  target.min_tokens = static_cast<int32_t>(min_tokens);
  return Status::ok();
}

/// One request per choice; with a seed, each choice has its own.
std::vector<GenerateRequest> one_per_choice(GenerateRequest request, int32_t num_choices,
                                            const std::string& response_id) {
  std::vector<GenerateRequest> requests(static_cast<size_t>(num_choices), request);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].id = num_choices == 1 ? response_id : response_id + "-" + std::to_string(i);
    if (request.sampling.seed) {
      requests[i].sampling.seed = *request.sampling.seed + i;
    }
  }
  return requests;
}

std::unique_ptr<ResponseAssembler> make_assembler(const ConvertedRequest& converted,
                                                  const GenerateRequest& engine_request,
                                                  const ServiceInfo& info,
                                                  const recipe::Recipe& recipe,
                                                  ChatAssembler::Settings settings) {
  settings.envelope.thinking = converted.conversation.thinking_mode;
  settings.envelope.announces_usage = converted.include_usage;
  settings.envelope.reasoning_fields = info.reasoning_fields;
  if (!info.model.system_fingerprint.empty()) {
    settings.envelope.system_fingerprint = info.model.system_fingerprint;
  }
  settings.stream = converted.stream;
  settings.include_usage = converted.include_usage;
  settings.continuous_usage = converted.continuous_usage;
  settings.parsing = converted.parsing;
  settings.end_tokens = end_tokens(info, engine_request);
  settings.prompt_tokens = engine_request.prompt.size();
  return std::make_unique<ChatAssembler>(settings, recipe);
}

}  // namespace

Result<PreparedCompletion> prepare_chat_completion(std::string_view body, const ServiceInfo& info,
                                                   const recipe::Recipe& recipe,
                                                   const std::string& response_id,
                                                   int64_t created) {
  constexpr RecipePolicy kPolicy = RecipePolicy::server();
  DI_ASSIGN(const ChatRequest request, parse_chat_request(body, kPolicy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_chat_request(request, served_options(info, recipe), kPolicy));
  DI_ASSIGN(GenerateRequest engine_request, make_engine_request(request, converted, info.model));

  DI_TRY(fill_prompt(converted, info, recipe, kPolicy, engine_request));
  DI_TRY(set_min_tokens(request, engine_request));

  PreparedCompletion prepared;
  prepared.stream = converted.stream;
  prepared.assembler = make_assembler(
      converted, engine_request, info, recipe,
      {.envelope = {.id = response_id, .model = info.model_names.front(), .created = created},
       .num_choices = request.n,
       .policy = kPolicy});
  prepared.requests = one_per_choice(std::move(engine_request), request.n, response_id);
  return prepared;
}

}  // namespace deepinfer::protocol
