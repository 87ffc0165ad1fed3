// Bodies of POST /v1/messages and /v1/messages/count_tokens.

#include "fuzz/request.h"
#include "protocol/messages/messages_conversion.h"

using namespace deepinfer;  // a target is one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body = fuzz::as_text(data, size);
  using protocol::RecipePolicy;
  for (const RecipePolicy& policy : {RecipePolicy::reference(), RecipePolicy::server()}) {
    fuzz::expect_conversion<protocol::parse_messages_request, protocol::convert_messages_request>(
        body, policy);
  }
  fuzz::expect_prepared(
      protocol::prepare_messages(body, fuzz::demo_service(), fuzz::demo_recipe(), "msg_1", 1));
  fuzz::expect_answer(
      protocol::count_messages_tokens(body, fuzz::demo_service(), fuzz::demo_recipe()));
  return 0;
}
