#include "server/health_route.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "server/version.h"

namespace deepinfer::server {
namespace {

using Json = nlohmann::ordered_json;

void answer_json(httplib::Response& res, int http_status, const Json& body) {
  res.status = http_status;
  res.set_header("Cache-Control", "no-store");
  if (http_status == 503) {
    res.set_header("Retry-After", "1");
  }
  res.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                  "application/json");
}

double rounded(double seconds) {
  return std::round(seconds * 1e3) / 1e3;
}

// Share of the start that is behind us, by phases; each takes its own time.
double progress_of(Phase phase) {
  return static_cast<double>(phase) / static_cast<double>(Phase::kServing);
}

Json body_of(const Service& service, const std::string& status) {
  const Phase phase = service.phase();
  Json body = {{"status", status},
               {"phase", to_string(phase)},
               {"progress", progress_of(phase)},
               {"version", kVersion},
               {"model", service.model_name()},
               {"uptime_seconds", rounded(service.uptime_s())},
               {"last_step_age_seconds", nullptr},
               {"running", 0},
               {"waiting", 0}};
  if (const ServedModel* model = service.loaded()) {
    const LlmStats stats = model->llm->stats();
    if (stats.last_step_age_s >= 0) {
      body["last_step_age_seconds"] = rounded(stats.last_step_age_s);
    }
    body["running"] = stats.num_running;
    body["waiting"] = stats.num_waiting;
  }
  return body;
}

void answer_ready(const Service& service, httplib::Response& res) {
  const Status health = service.health();
  std::string status = "ok";
  if (!health.is_ok()) {
    status = "failed";
  } else if (service.draining()) {
    status = "draining";
  } else if (service.loaded() == nullptr) {
    status = "loading";
  }
  Json body = body_of(service, status);
  if (!health.is_ok()) {
    body["reason"] = health.message();
  }
  answer_json(res, status == "ok" ? 200 : 503, body);
}

void answer_live(const Service& service, httplib::Response& res) {
  // An engine that died is restarted by this process, which therefore lives; one that hung is
  // what the watchdog of an orchestrator asks for.
  const Status health = service.health();
  const bool alive = service.failure().is_ok() && health.reason() != kReasonEngineHung;
  Json body = body_of(service, alive ? "alive" : "stuck");
  if (!health.is_ok()) {
    body["reason"] = health.message();
  }
  answer_json(res, alive ? 200 : 503, body);
}

void answer_version(httplib::Response& res) {
  answer_json(res, 200, {{"name", "deepinfer-server"}, {"version", kVersion}});
}

void add_open(RouteTable& routes, const char* path, Route::Handler handler) {
  routes.add({.method = "GET",
              .path = path,
              .handler = std::move(handler),
              .access = Access::kOpen,
              .when_busy = true});
}

}  // namespace

void add_health_routes(RouteTable& routes, const Service& service) {
  for (const char* path : {"/livez", "/v1/health/live"}) {
    add_open(routes, path,
             [&service](Exchange&, httplib::Response& res) { answer_live(service, res); });
  }
  for (const char* path : {"/readyz", "/ready", "/v1/health/ready", "/health"}) {
    add_open(routes, path,
             [&service](Exchange&, httplib::Response& res) { answer_ready(service, res); });
  }
  for (const char* path : {"/version", "/"}) {
    add_open(routes, path, [](Exchange&, httplib::Response& res) { answer_version(res); });
  }
}

}  // namespace deepinfer::server
