#include "model/rope.h"

#include <algorithm>
#include <cmath>

namespace deepinfer::model {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// Channel pair whose wavelength makes `rotations` turns within the original context.
double correction_dim(const ModelConfig& config, double rotations) {
  return config.qk_rope_head_dim *
         std::log(config.yarn.original_max_position / (rotations * 2 * kPi)) /
         (2 * std::log(config.compress_rope_theta));
}

/// Blends interpolated and original frequencies pair by pair, in float32.
void apply_yarn(const ModelConfig& config, std::vector<float>& frequencies) {
  const double low = std::max(std::floor(correction_dim(config, config.yarn.beta_fast)), 0.0);
  const double high = std::min(std::ceil(correction_dim(config, config.yarn.beta_slow)),
                               static_cast<double>(config.qk_rope_head_dim - 1));
  const auto first = static_cast<float>(low);
  const auto span = static_cast<float>(std::max(high - low, 0.001));
  const auto factor = static_cast<float>(config.yarn.factor);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float ramp = std::clamp((static_cast<float>(i) - first) / span, 0.0F, 1.0F);
    const float keep = 1.0F - ramp;
    frequencies[i] = frequencies[i] / factor * (1.0F - keep) + frequencies[i] * keep;
  }
}

}  // namespace

std::vector<float> rope_frequencies(const ModelConfig& config, bool compressed) {
  const double theta = compressed ? config.compress_rope_theta : config.rope_theta;
  std::vector<float> frequencies(static_cast<size_t>(config.qk_rope_head_dim / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    // The power in float64, rounded once: float32 power functions differ in the last bits,
    // which show at positions near 10^6.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.qk_rope_head_dim);
    frequencies[i] = 1.0F / static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
  }
  if (compressed && config.yarn.original_max_position > 0) {
    apply_yarn(config, frequencies);
  }
  return frequencies;
}

}  // namespace deepinfer::model
