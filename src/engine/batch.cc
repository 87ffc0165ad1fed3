#include "engine/batch.h"

namespace deepinfer::engine {

int32_t Batch::num_tokens() const {
  size_t total = 0;
  for (const BatchSequence& sequence : sequences) {
    total += sequence.tokens.size();
  }
  return static_cast<int32_t>(total);
}

}  // namespace deepinfer::engine
