// Bodies of POST /v1/chat/completions, from JSON to what the engine would run.

#include "fuzz/request.h"
#include "protocol/chat/chat_request.h"

using namespace deepinfer;  // a target is one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body = fuzz::as_text(data, size);
  using protocol::RecipePolicy;
  for (const RecipePolicy& policy : {RecipePolicy::reference(), RecipePolicy::server()}) {
    fuzz::expect_conversion<protocol::parse_chat_request, protocol::convert_chat_request>(body,
                                                                                          policy);
  }
  fuzz::expect_prepared(protocol::prepare_chat_completion(body, fuzz::demo_service(),
                                                          fuzz::demo_recipe(), "chatcmpl-1", 1));
  return 0;
}
