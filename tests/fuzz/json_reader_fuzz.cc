// The strict JSON reader against the library's parser, and JSON text read again.

#include "fuzz/fuzz.h"
#include "recipe/json_reader.h"
#include "recipe/json_text.h"
#include "recipe/utf8.h"

using namespace deepinfer;  // a target is one function
using recipe::Json;
using recipe::JsonStyle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto strict = recipe::read_json(text, {});
  const auto loose =
      recipe::read_json(text, {.max_depth = recipe::kMaxJsonDepth, .refuse_duplicate_keys = false});
  if (!strict) {
    fuzz::expect_refusal(strict.error());
  }
  if (!loose) {
    fuzz::expect(!strict, "limits that are wider refuse more", text);
    return 0;
  }
  fuzz::expect(recipe::is_valid_utf8(text), "bytes that are not UTF-8 passed", text);
  const Json library = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  fuzz::expect(!library.is_discarded(), "what the library refuses passed", text);
  fuzz::expect(!strict || *strict == library, "a value that is another", text);
  for (const JsonStyle style : {JsonStyle::kCompact, JsonStyle::kSpacedV4, JsonStyle::kSpacedV41}) {
    std::string written;
    recipe::append_json(*loose, style, written);
    const auto again = recipe::read_json(
        written, {.max_depth = recipe::kMaxJsonDepth, .refuse_duplicate_keys = true});
    fuzz::expect(again && *again == *loose, "JSON text that reads otherwise", written);
  }
  return 0;
}
