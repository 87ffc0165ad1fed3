// Chunked bodies. The first byte cuts the input into pieces, which must make no difference; the
// rest is decoded, and as data of a well-formed body it comes back.

#include "fuzz/fuzz.h"
#include "server/chunked_body.h"

using namespace deepinfer;  // a target is one function

namespace {

constexpr uint64_t kMaxBytes = 1000;

struct Decoded {
  std::string body;
  size_t consumed = 0;
  bool done = false;
  int refused = 0;

  bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view input, uint8_t cuts_seed, uint64_t max_bytes) {
  server::ChunkedDecoder decoder(max_bytes);
  fuzz::Cuts cuts(cuts_seed);
  Decoded result;
  while (!input.empty() && !decoder.done() && !decoder.refusal()) {
    const size_t piece = cuts.next(input.size());
    const size_t consumed = decoder.feed(input.substr(0, piece), result.body);
    const bool ended = decoder.done() || decoder.refusal();
    fuzz::expect(consumed <= piece && (ended || consumed == piece), "bytes left lying", input);
    fuzz::expect(result.body.size() <= max_bytes, "a body beyond its limit");
    input.remove_prefix(consumed);
    result.consumed += consumed;
  }
  result.done = decoder.done();
  if (const auto& refusal = decoder.refusal()) {
    fuzz::expect(!result.done, "both done and refused");
    result.refused = refusal->http_status;
    fuzz::expect(result.refused == 400 || result.refused == 413, "another status");
    fuzz::expect(!refusal->status.message().empty(), "a refusal without words");
  }
  return result;
}

std::string in_chunks(std::string_view data, uint8_t seed) {
  constexpr std::string_view kHex = "0123456789abcdef";
  fuzz::Cuts cuts(seed | 1);
  std::string out;
  while (!data.empty()) {
    const size_t n = cuts.next(data.size());
    out.append(1, kHex[n]).append("\r\n").append(data.substr(0, n)).append("\r\n");
    data.remove_prefix(n);
  }
  return out + "0\r\nTrailer: dropped\r\n\r\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Choices choices(fuzz::as_text(data, size));
  const uint8_t seed = choices.byte();
  const std::string_view input = choices.rest();
  const Decoded whole = decode(input, 0, kMaxBytes);
  fuzz::expect(decode(input, seed, kMaxBytes) == whole, "pieces that decode otherwise", input);

  const std::string encoded = in_chunks(input, seed);
  const Decoded back = decode(encoded + "GET /", seed, input.size());
  fuzz::expect(back.done && back.body == input && back.consumed == encoded.size(),
               "a body that does not come back", encoded);
  return 0;
}
