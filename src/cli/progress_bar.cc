#include "cli/progress_bar.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace deepinfer::cli {
namespace {

constexpr int64_t kBarWidth = 30;
constexpr std::chrono::milliseconds kRedrawInterval{100};

}  // namespace

std::string progress_text(const BatchProgress& progress, double elapsed_s) {
  const int64_t total = std::max<int64_t>(progress.requests_total, 1);
  const auto filled = static_cast<size_t>(kBarWidth * progress.requests_done / total);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, ' ');
  const double rate =
      elapsed_s > 0 ? static_cast<double>(progress.tokens_generated) / elapsed_s : 0.0;
  return fmt::format("[{}] {}/{} requests, {} tokens, {:.1f} tokens/s", bar, progress.requests_done,
                     progress.requests_total, progress.tokens_generated, rate);
}

ProgressBar::ProgressBar(std::FILE* terminal, const base::Clock& clock)
    : terminal_(terminal), clock_(clock), start_(clock.now()), next_draw_(start_) {}

void ProgressBar::update(const BatchProgress& progress) {
  progress_ = progress;
  const base::TimePoint now = clock_.now();
  if (terminal_ != nullptr && now >= next_draw_) {
    draw(now);
    next_draw_ = now + kRedrawInterval;
  }
}

void ProgressBar::finish() {
  if (terminal_ != nullptr) {
    draw(clock_.now());
    std::fputc('\n', terminal_);
  }
}

void ProgressBar::draw(base::TimePoint now) {
  const std::string text = progress_text(progress_, base::seconds_between(start_, now));
  // Back to the first column, and clear what a longer line left behind.
  std::fprintf(terminal_, "\r%s\033[K", text.c_str());
  std::fflush(terminal_);
}

}  // namespace deepinfer::cli
