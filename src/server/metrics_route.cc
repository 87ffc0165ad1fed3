#include "server/metrics_route.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "server/version.h"

namespace deepinfer::server {
namespace {

// Backslash, quote and line feed are the three that the format escapes.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

class Page {
 public:
  explicit Page(const std::string& model_name)
      : labels_(fmt::format("model_name=\"{}\",engine=\"0\"", label_value(model_name))) {}

  void family(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_),
                   "# HELP deepinfer:{0} {2}\n# TYPE deepinfer:{0} {1}\n", name, type, help);
    name_ = name;
  }
  template <typename T>
  void sample(T value, std::string_view extra_labels = {}) {
    fmt::format_to(std::back_inserter(text_), "deepinfer:{}{{{}{}{}}} {}\n", name_, labels_,
                   extra_labels.empty() ? "" : ",", extra_labels, value);
  }
  template <typename T>
  void single(std::string_view name, std::string_view type, std::string_view help, T value) {
    family(name, type, help);
    sample(value);
  }
  std::string take() { return std::move(text_); }

 private:
  const std::string labels_;
  std::string text_;
  std::string_view name_;
};

double cache_usage(const LlmStats& stats) {
  return stats.blocks_total == 0 ? 0.0
                                 : static_cast<double>(stats.blocks_used) / stats.blocks_total;
}

void add_finished(Page& page, const LlmStats& stats) {
  page.family("request_success_total", "counter", "Requests that ended, by reason.");
  page.sample(stats.finished_stop, "finished_reason=\"stop\"");
  page.sample(stats.finished_length, "finished_reason=\"length\"");
  page.sample(stats.finished_abort, "finished_reason=\"abort\"");
  page.sample(stats.finished_error, "finished_reason=\"error\"");
}

}  // namespace

std::string metrics_text(const LlmStats& stats, const std::string& model_name,
                         uint64_t invalid_arguments) {
  Page page(model_name);
  page.single("num_requests_running", "gauge", "Requests in the batch.", stats.num_running);
  page.single("num_requests_waiting", "gauge", "Requests that wait.", stats.num_waiting);
  page.single("kv_cache_usage_perc", "gauge", "Share of cache blocks in use, 0 to 1.",
              cache_usage(stats));
  page.single("prompt_tokens_total", "counter", "Prompt tokens processed.", stats.prompt_tokens);
  page.single("generation_tokens_total", "counter", "Tokens generated.", stats.generation_tokens);
  page.single("abandoned_tokens_total", "counter", "Tokens generated after their client had left.",
              stats.abandoned_tokens);
  add_finished(page, stats);
  page.single("num_preemptions_total", "counter", "Requests preempted.", stats.preemptions);
  page.single("engine_steps_total", "counter", "Steps completed.", stats.steps);
  page.single("admission_rejections_total", "counter",
              "Requests the engine refused: queue full, or unable to run.", stats.refused);
  page.single("invalid_tool_arguments_total", "counter",
              "Arguments announced as JSON that were not; clients got them as strings.",
              invalid_arguments);
  page.family("build_info", "gauge", "What is running.");
  page.sample(1, fmt::format("version=\"{}\"", kVersion));
  return page.take();
}

void add_metrics_route(RouteTable& routes, const Service& service) {
  routes.add({.method = "GET",
              .path = "/metrics",
              .handler =
                  [&service](Exchange&, httplib::Response& res) {
                    const ServedModel* model = service.loaded();
                    const LlmStats stats = model == nullptr ? LlmStats{} : model->llm->stats();
                    res.status = 200;
                    res.set_content(
                        metrics_text(stats, service.model_name(), service.invalid_arguments()),
                        "text/plain; version=0.0.4");
                  },
              .access = Access::kOpen,
              .when_busy = true});
}

}  // namespace deepinfer::server
