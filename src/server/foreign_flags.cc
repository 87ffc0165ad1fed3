#include "server/foreign_flags.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <vector>

namespace deepinfer::server {
namespace {

struct Advice {
  std::string_view flag;
  std::string_view text;
};

constexpr std::array<Advice, 17> kAdvice = {{
    {"--enforce-eager", "there are no captured graphs to turn off on this device"},
    {"--quantization", "the checkpoint fixes the weight formats"},
    {"--speculative-config", "this version generates without drafts"},
    {"-tp", "there is no tensor parallelism; use --data-parallel-size or --context-parallel-size"},
    {"--model-path", "did you mean MODEL_DIR or --model?"},
    {"--dp", "did you mean --data-parallel-size?"},
    {"--ep", "did you mean --expert-parallel-size?"},
    {"--dp-size", "did you mean --data-parallel-size?"},
    {"--ep-size", "did you mean --expert-parallel-size?"},
    {"--mem-fraction-static", "did you mean --kv-cache-memory-bytes?"},
    {"--context-length", "did you mean --max-model-len?"},
    {"--ctx-size", "did you mean --max-model-len?"},
    {"--max-running-requests", "did you mean --max-num-seqs?"},
    {"-m", "did you mean MODEL_DIR or --model?"},
    {"--alias", "did you mean --served-model-name?"},
    {"-c", "did you mean --max-model-len?"},
    {"-np", "did you mean --max-num-seqs?"},
}};

// Edits that turn one word into the other (Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string nearest_flag(std::string_view flag, const CLI::App& app) {
  std::string best;
  size_t best_distance = std::max<size_t>(2, flag.size() / 3) + 1;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::string spelled = "--" + name;
      if (const size_t distance = edit_distance(flag, spelled); distance < best_distance) {
        best = spelled;
        best_distance = distance;
      }
    }
  }
  return best;
}

}  // namespace

std::string explain_unknown(const std::string& argument, const CLI::App& app) {
  if (argument.empty() || argument.front() != '-') {
    return fmt::format("unexpected argument '{}'; MODEL_DIR is already given", argument);
  }
  const std::string flag = argument.substr(0, argument.find('='));
  const auto known = std::find_if(kAdvice.begin(), kAdvice.end(),
                                  [&flag](const Advice& advice) { return advice.flag == flag; });
  if (known != kAdvice.end()) {
    return fmt::format("{}: unknown option; {}", flag, known->text);
  }
  const std::string nearest = nearest_flag(flag, app);
  return nearest.empty() ? fmt::format("{}: unknown option; --help=all lists all", flag)
                         : fmt::format("{}: unknown option; did you mean {}?", flag, nearest);
}

}  // namespace deepinfer::server
