#include "server/models_route.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kPrefix = "/v1/models/";

Json model_json(const ServedModel& model, const std::string& name) {
  const ModelInfo& info = model.info.model;
  return {{"id", name},
          {"object", "model"},
          {"created", model.created_s},
          {"owned_by", "deepinfer"},
          {"root", model.info.model_names.front()},
          {"max_model_len", info.max_model_len},
          {"meta",
           {{"vocab_size", info.vocab_size},
            {"context_length", info.max_model_len},
            {"system_fingerprint", info.system_fingerprint}}}};
}

void answer_json(httplib::Response& res, const Json& body) {
  res.status = 200;
  res.set_content(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                  "application/json");
}

Status list_models(const Service& service, httplib::Response& res) {
  DI_ASSIGN(const ServedModel* model, service.ready());
  Json data = Json::array();
  for (const std::string& name : model->info.model_names) {
    data.push_back(model_json(*model, name));
  }
  answer_json(res, {{"object", "list"}, {"data", std::move(data)}});
  return Status::ok();
}

Status show_model(const Service& service, std::string_view path, httplib::Response& res) {
  DI_ASSIGN(const ServedModel* model, service.ready());
  const auto& names = model->info.model_names;
  std::string_view asked = path.substr(kPrefix.size());
  if (!asked.empty() && asked.back() == '/') {
    asked.remove_suffix(1);
  }
  const auto name = std::find(names.begin(), names.end(), asked);
  if (name == names.end()) {
    return not_found(fmt::format("the model '{}' does not exist; this server has '{}'", asked,
                                 names.front()))
        .with_param("model")
        .with_reason(std::string(kReasonModelNotFound));
  }
  answer_json(res, model_json(*model, *name));
  return Status::ok();
}

void answer_unless_ok(httplib::Response& res, const Status& status) {
  if (!status.is_ok()) {
    answer_error(res, status);
  }
}

}  // namespace

void add_model_routes(RouteTable& routes, const Service& service) {
  routes.add({.method = "GET",
              .path = "/v1/models",
              .handler =
                  [&service](Exchange&, httplib::Response& res) {
                    answer_unless_ok(res, list_models(service, res));
                  },
              .when_busy = true});
  routes.add({.method = "GET",
              .path = std::string(kPrefix),
              .handler =
                  [&service](Exchange& exchange, httplib::Response& res) {
                    answer_unless_ok(res, show_model(service, exchange.head.path, res));
                  },
              .prefix = true,
              .when_busy = true});
}

}  // namespace deepinfer::server
