#pragma once

/// Properties of request bodies, the same for every protocol.

#include <string_view>

#include "fuzz/fuzz.h"
#include "protocol/conversion.h"

namespace deepinfer::fuzz {

/// A refusal as clients get it; or a prompt that is what was rendered, in which nothing but the
/// encoding's own control tokens is a control token, and an output limit within the context.
void expect_converted(const Result<protocol::ConvertedRequest>& converted,
                      const protocol::RecipePolicy& policy);

/// A refusal; or requests that the engine takes, and an assembler that turns a short output
/// into JSON and ends.
void expect_prepared(Result<protocol::PreparedCompletion> prepared);

/// A refusal or JSON.
void expect_answer(const Result<std::string>& answer);

/// Parses and converts under one policy.
template <auto Parse, auto Convert>
void expect_conversion(std::string_view body, const protocol::RecipePolicy& policy) {
  const auto request = Parse(body, policy);
  if (!request) {
    return expect_refusal(request.error());
  }
  protocol::ConversionOptions options;
  options.models.emplace("m", recipe::Encoding::kV41);
  const auto converted = Convert(*request, options, policy);
  if constexpr (std::is_same_v<std::decay_t<decltype(*converted)>, protocol::ConvertedRequest>) {
    expect_converted(converted, policy);
  } else {
    expect_converted(converted ? Result<protocol::ConvertedRequest>(converted->request)
                               : Result<protocol::ConvertedRequest>(converted.error()),
                     policy);
  }
}

}  // namespace deepinfer::fuzz
