#include <vector>

#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

namespace {

// new[k] = post[k] * y + sum_j comb[j, k] * old[j], for one channel of all streams.
void expand_channel(const float* post, const float* comb, float y, int64_t num_streams,
                    int64_t stride, const float* old, float* streams) {
  for (int64_t k = 0; k < num_streams; ++k) {
    float sum = post[k] * y;
    for (int64_t j = 0; j < num_streams; ++j) {
      sum += comb[j * num_streams + k] * old[j];
    }
    streams[k * stride] = sum;
  }
}

}  // namespace

void hc_expand(const OpContext& context, const HcExpandArgs& args) {
  const int64_t width = args.hidden_size;
  const int64_t num_streams = args.num_streams;
  parallel_for(context, args.num_tokens, grain_for(width * num_streams * num_streams),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> old(static_cast<size_t>(num_streams));
                 for (int64_t t = begin; t < end; ++t) {
                   float* streams = args.streams + t * num_streams * width;
                   for (int64_t i = 0; i < width; ++i) {
                     for (int64_t j = 0; j < num_streams; ++j) {
                       old[static_cast<size_t>(j)] = streams[j * width + i];
                     }
                     expand_channel(
                         args.post + t * num_streams, args.comb + t * num_streams * num_streams,
                         args.y[t * width + i], num_streams, width, old.data(), streams + i);
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
