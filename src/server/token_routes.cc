#include "server/token_routes.h"

#include <string>
#include <string_view>

#include "server/body_check.h"

namespace deepinfer::server {
namespace {

struct TokenRoute {
  std::string_view path;
  Result<std::string> (*answer)(std::string_view body, const protocol::ServiceInfo& info,
                                const recipe::Recipe& recipe);
};
constexpr TokenRoute kRoutes[] = {
    {"/v1/messages/count_tokens", protocol::count_messages_tokens},
    {"/tokenize", protocol::tokenize},
    {"/detokenize", protocol::detokenize},
};

Status serve(const TokenRoute& route, const Service& service, const Exchange& exchange,
             httplib::Response& res) {
  DI_ASSIGN(const ServedModel* model, service.ready());
  DI_ASSIGN(const std::string body, route.answer(exchange.body, model->info, *model->recipe));
  res.status = 200;
  res.set_content(body, "application/json");
  return Status::ok();
}

}  // namespace

void add_token_routes(RouteTable& routes, const Service& service) {
  for (const TokenRoute& route : kRoutes) {
    routes.add({.method = "POST",
                .path = std::string(route.path),
                .handler = [&route, &service](Exchange& exchange, httplib::Response& res) {
                  if (!accept_json_body(exchange, res)) {
                    return;
                  }
                  if (const Status status = serve(route, service, exchange, res); !status.is_ok()) {
                    answer_error(exchange, res, status);
                  }
                }});
  }
}

}  // namespace deepinfer::server
