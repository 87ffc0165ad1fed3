#include "protocol/output_rules.h"

#include <random>
#include <string_view>

namespace deepinfer::protocol {
namespace {

std::mt19937_64& id_generator() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  return generator;
}

}  // namespace

recipe::OutputRules output_rules(const RecipePolicy& policy) {
  return {.hide_markup = policy.hide_markup,
          .typed_arguments = policy.typed_arguments,
          .pad_json = policy.pad_json,
          .exact_tokens = policy.logprobs_once};
}

std::string new_call_id(int32_t index, bool empty_thinking) {
  static constexpr std::string_view kLetters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string id = index < 10 ? "call_0" : "call_";
  id += std::to_string(index) + "_";
  if (empty_thinking) {
    id += "ET_";
  }
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::uniform_int_distribution<size_t> digit(0, 9);
  for (int i = 0; i < 24; ++i) {
    id += kLetters[i < 20 ? letter(id_generator()) : digit(id_generator())];
  }
  return id;
}

}  // namespace deepinfer::protocol
