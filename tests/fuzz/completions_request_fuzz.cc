// Bodies of POST /v1/completions, and of /tokenize and /detokenize.

#include "fuzz/request.h"

using namespace deepinfer;  // a target is one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body = fuzz::as_text(data, size);
  const protocol::ServiceInfo& service = fuzz::demo_service();
  const recipe::Recipe& recipe = fuzz::demo_recipe();
  fuzz::expect_prepared(protocol::prepare_completions(body, service, recipe, "cmpl-1", 1));
  fuzz::expect_answer(protocol::tokenize(body, service, recipe));
  fuzz::expect_answer(protocol::detokenize(body, service, recipe));
  return 0;
}
