#include "server/service.h"

#include <array>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "server/openai_error.h"

namespace deepinfer::server {
namespace {

Status unavailable_because(std::string message, std::string_view reason) {
  return unavailable(std::move(message)).with_reason(std::string(reason));
}

}  // namespace

std::string_view to_string(Phase phase) {
  static constexpr std::array<std::string_view, 5> kNames = {"config", "weights", "kernels",
                                                             "warmup", "serving"};
  return kNames.at(static_cast<size_t>(phase));
}

Service::Service(protocol::ServiceInfo info)
    : info_(std::move(info)), started_(base::steady_now()) {
  DI_CHECK(!info_.model_names.empty());
}

void Service::start_serving(std::unique_ptr<recipe::Recipe> recipe, std::unique_ptr<Llm> llm) {
  DI_CHECK(model_ == nullptr);
  model_ = std::make_unique<ServedModel>();
  model_->info = info_;
  model_->info.model = llm->model();
  model_->recipe = std::move(recipe);
  model_->llm = std::move(llm);
  model_->created_s = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  published_.store(model_.get(), std::memory_order_release);
  set_phase(Phase::kServing);
}

void Service::fail(const Status& reason) {
  const std::lock_guard lock(mutex_);
  failure_ = reason;
}

Status Service::own_failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status Service::health() const {
  DI_TRY(own_failure());
  const ServedModel* model = loaded();
  return model == nullptr ? Status::ok() : model->llm->health();
}

Status Service::failure() const {
  DI_TRY(own_failure());
  const ServedModel* model = loaded();
  return model == nullptr ? Status::ok() : model->llm->failure();
}

Result<const ServedModel*> Service::ready() const {
  if (draining()) {
    return unavailable_because("the server is shutting down", kReasonDraining);
  }
  if (const Status status = health(); !status.is_ok()) {
    const bool hung = status.reason() == kReasonEngineHung;
    return unavailable_because("the engine has failed: " + status.message(),
                               hung ? std::string_view(kReasonEngineHung) : kReasonFailed);
  }
  const ServedModel* model = loaded();
  if (model == nullptr) {
    return unavailable_because("the model is still loading", kReasonLoading);
  }
  return model;
}

double Service::uptime_s() const {
  return base::seconds_between(started_, base::steady_now());
}

}  // namespace deepinfer::server
