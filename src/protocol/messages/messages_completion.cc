// The doors of the Messages protocol: a body in, engine requests and an assembler out.

#include <memory>
#include <utility>

#include "protocol/completion.h"
#include "protocol/engine_request.h"
#include "protocol/messages/messages_assembler.h"
#include "protocol/messages/messages_conversion.h"
#include "protocol/prepared_prompt.h"

namespace deepinfer::protocol {
namespace {

constexpr RecipePolicy kPolicy = RecipePolicy::server();

}  // namespace

Result<PreparedCompletion> prepare_messages(std::string_view body, const ServiceInfo& info,
                                            const recipe::Recipe& recipe,
                                            const std::string& response_id, int64_t /*created*/) {
  DI_ASSIGN(const MessagesRequest request, parse_messages_request(body, kPolicy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_messages_request(request, served_options(info, recipe), kPolicy));
  GenerateRequest engine_request = make_engine_request(converted);
  engine_request.id = response_id;
  DI_TRY(set_top_k(request.top_k, engine_request));
  DI_TRY(fill_prompt(converted, info, recipe, kPolicy, engine_request));

  PreparedCompletion prepared;
  prepared.stream = converted.stream;
  prepared.assembler = std::make_unique<MessagesAssembler>(
      MessagesAssembler::Settings{.envelope = {.id = response_id,
                                               .model = info.model_names.front(),
                                               .thinking = converted.conversation.thinking_mode},
                                  .parsing = converted.parsing,
                                  .end_tokens = end_tokens(info, engine_request),
                                  .prompt_tokens = engine_request.prompt.size(),
                                  .policy = kPolicy},
      recipe);
  prepared.requests.push_back(std::move(engine_request));
  return prepared;
}

Result<std::string> count_messages_tokens(std::string_view body, const ServiceInfo& info,
                                          const recipe::Recipe& recipe) {
  DI_ASSIGN(const MessagesRequest request, parse_messages_request(body, kPolicy));
  DI_ASSIGN(const ConvertedRequest converted,
            convert_messages_request(request, served_options(info, recipe), kPolicy));
  DI_ASSIGN(const std::vector<TokenId> prompt, encode_prompt(converted, info, recipe, kPolicy));
  return R"({"input_tokens":)" + std::to_string(prompt.size()) + "}";
}

}  // namespace deepinfer::protocol
