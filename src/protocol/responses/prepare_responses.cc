// The door of the Responses protocol: a body in, an engine request and an assembler out.

#include <memory>
#include <utility>

#include "protocol/completion.h"
#include "protocol/engine_request.h"
#include "protocol/prepared_prompt.h"
#include "protocol/responses/responses_assembler.h"
#include "protocol/responses/responses_conversion.h"

namespace deepinfer::protocol {

Result<PreparedCompletion> prepare_responses(std::string_view body, const ServiceInfo& info,
                                             const recipe::Recipe& recipe,
                                             const std::string& response_id, int64_t created) {
  constexpr RecipePolicy kPolicy = RecipePolicy::server();
  DI_ASSIGN(const ResponsesRequest request, parse_responses_request(body, kPolicy));
  DI_ASSIGN(ConvertedResponses converted,
            convert_responses_request(request, served_options(info, recipe), kPolicy));
  GenerateRequest engine_request = make_engine_request(converted.request);
  engine_request.id = response_id;
  if (Status status = fill_prompt(converted.request, info, recipe, kPolicy, engine_request);
      !status.is_ok()) {
    return status.param() == "messages" ? std::move(status).with_param("input") : status;
  }

  PreparedCompletion prepared;
  prepared.stream = converted.request.stream;
  prepared.assembler = std::make_unique<ResponsesAssembler>(
      ResponsesAssembler::Settings{
          .stream = {.thinking = converted.request.conversation.thinking_mode,
                     .names = std::move(converted.names),
                     .parsing = converted.request.parsing,
                     .control = recipe.control(),
                     .policy = kPolicy},
          .end_tokens = end_tokens(info, engine_request),
          .prompt_tokens = engine_request.prompt.size()},
      ResponseWriter({.id = response_id, .model = info.model_names.front(), .created = created},
                     request, kPolicy),
      recipe);
  prepared.requests.push_back(std::move(engine_request));
  return prepared;
}

}  // namespace deepinfer::protocol
