// Bodies of POST /v1/responses.

#include "fuzz/request.h"
#include "protocol/responses/responses_conversion.h"

using namespace deepinfer;  // a target is one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body = fuzz::as_text(data, size);
  using protocol::RecipePolicy;
  for (const RecipePolicy& policy : {RecipePolicy::reference(), RecipePolicy::server()}) {
    fuzz::expect_conversion<protocol::parse_responses_request, protocol::convert_responses_request>(
        body, policy);
  }
  fuzz::expect_prepared(
      protocol::prepare_responses(body, fuzz::demo_service(), fuzz::demo_recipe(), "resp_1", 1));
  return 0;
}
