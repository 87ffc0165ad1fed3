#include "kernels/cpu/reference/formats.h"
#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels::reference {

// (a, b) -> (a cos - b sin, a sin + b cos) for adjacent pairs of the last rope_dim channels;
// the angle float32(position) * inv_freq is rounded to float32. The inverse uses -sin.
void rope(const OpContext& context, const RopeArgs& args) {
  const int64_t pairs = args.rope_dim / 2;
  parallel_for(context, args.num_rows,
               grain_for(args.num_heads * args.rope_dim + 20 * args.rope_dim),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r = begin; r < end; ++r) {
                   const float position = static_cast<float>(args.positions[r]);
                   for (int64_t i = 0; i < pairs; ++i) {
                     const float angle = position * args.inv_freq[i];
                     const float cosine = cosf(angle);
                     const float sine = args.inverse ? -sinf(angle) : sinf(angle);
                     for (int64_t h = 0; h < args.num_heads; ++h) {
                       float* pair = args.x + (r * args.num_heads + h + 1) * args.head_dim -
                                     args.rope_dim + 2 * i;
                       const float a = pair[0];
                       const float b = pair[1];
                       pair[0] = a * cosine - b * sine;
                       pair[1] = a * sine + b * cosine;
                     }
                   }
                 }
               });
}

}  // namespace deepinfer::kernels::reference
