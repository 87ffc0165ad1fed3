#include "server/completion_route.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/body_check.h"
#include "server/completion_stream.h"
#include "server/openai_error.h"
#include "server/sse_writer.h"

namespace deepinfer::server {
namespace {

using protocol::Event;
using std::chrono::milliseconds;

// The status line of a stream waits this long for something to say, so that early failures
// have a status of their own.
constexpr milliseconds kMaxHeadDelay{10'000};
constexpr milliseconds kFarAway{3'600'000};

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Why requests that are left at the end of a drain end.
Status end_of_drain(const Service& service) {
  const Status health = service.health();
  return health.is_ok()
             ? unavailable("the server is shutting down").with_reason(std::string(kReasonDraining))
             : unavailable("the engine has failed: " + health.message())
                   .with_reason(std::string(kReasonFailed));
}

CompletionStream::Interrupted interruption_of(const Exchange& exchange, const Service& service) {
  const Connection& connection = exchange.connection;
  const std::atomic<bool>& abandon = exchange.abandon;
  return [&connection, &abandon, &service]() -> Status {
    if (connection.gone()) {
      return cancelled("the client left");
    }
    if (abandon.load(std::memory_order_acquire)) {
      return end_of_drain(service);
    }
    return Status::ok();
  };
}

void set_deadlines(std::vector<GenerateRequest>& requests, const Exchange& exchange,
                   milliseconds timeout) {
  for (GenerateRequest& request : requests) {
    request.id = exchange.request_id;
    if (timeout.count() > 0 && !request.deadline) {
      request.deadline = exchange.received + timeout;
    }
  }
}

double ms_between(double from_s, double to_s) {
  return from_s < 0 || to_s < 0 ? 0.0 : (to_s - from_s) * 1e3;
}

// Where the time went: ours (`recipe`, `total`) apart from the engine's.
std::string server_timing(double recipe_s, double total_s, const RequestTimings& timings) {
  return fmt::format(
      "recipe;dur={:.1f}, queue;dur={:.1f}, prefill;dur={:.1f}, decode;dur={:.1f}, "
      "total;dur={:.1f}",
      recipe_s * 1e3, ms_between(0.0, timings.queued_s),
      ms_between(timings.queued_s, timings.first_token_s),
      ms_between(timings.first_token_s, timings.finished_s), total_s * 1e3);
}

struct StreamBody {
  const Service* service;
  std::unique_ptr<CompletionStream> completion;
  /// What came before the status line.
  std::vector<Event> events;
  CompletionStream::State state;
  milliseconds keep_alive;
  ErrorStyle errors;
};

// Ends a stream that has begun: an error event, then the end without the mark of completeness.
bool end_with_error(SseWriter& writer, StreamBody& body) {
  const Status& failure = body.completion->failure();
  if (failure.code() != StatusCode::kCancelled) {
    DI_LOG_WARN("stream ended with an error: {} request_id={}", failure.message(),
                body.errors.request_id);
    // The same body as a plain answer's, so that clients tell failures apart in one way.
    writer.write(body.completion->assembler().failed(http_error(failure, body.errors).body));
  }
  return false;
}

bool wait_and_keep_alive(SseWriter& writer, StreamBody& body) {
  const bool pings = body.keep_alive.count() > 0;
  const base::TimePoint until =
      pings ? writer.last_write() + body.keep_alive : base::steady_now() + kFarAway;
  body.state = body.completion->advance(until, body.events);
  const bool silent = body.state == CompletionStream::State::kRunning && body.events.empty();
  if (!silent || !pings) {
    return true;
  }
  const std::vector<Event> events = body.completion->assembler().keep_alive();
  return events.empty() ? writer.write_keep_alive() : writer.write(events);
}

// Writes the whole stream; false ends the connection without the last chunk.
bool write_stream(httplib::DataSink& sink, StreamBody& body) {
  SseWriter writer(sink);
  bool ok = true;
  if (body.events.empty() && body.state == CompletionStream::State::kRunning &&
      body.keep_alive.count() > 0) {
    ok = writer.write_keep_alive();
  }
  while (ok) {
    ok = writer.write(body.events);
    body.events.clear();
    if (!ok || body.state == CompletionStream::State::kDone) {
      break;
    }
    if (body.state == CompletionStream::State::kFailed) {
      return end_with_error(writer, body);
    }
    ok = wait_and_keep_alive(writer, body);
  }
  // Before the last bytes, so that who has read an answer finds it counted.
  body.service->add_invalid_arguments(body.completion->assembler().invalid_arguments());
  if (ok) {
    sink.done();
  }
  return ok;
}

// Nothing may be thrown into the library from here.
bool write_stream_caught(httplib::DataSink& sink, StreamBody& body) noexcept {
  try {
    return write_stream(sink, body);
  } catch (const std::exception& error) {
    DI_LOG_ERROR("a stream threw: {} request_id={}", error.what(), body.errors.request_id);
    return false;
  }
}

/// What the routes of the protocols differ in.
struct CompletionApi {
  std::string_view path;
  /// In front of the request id in the id of the answer.
  std::string_view id_prefix;
  Result<protocol::PreparedCompletion> (*prepare)(std::string_view body,
                                                  const protocol::ServiceInfo& info,
                                                  const recipe::Recipe& recipe,
                                                  const std::string& response_id, int64_t created);
};
constexpr CompletionApi kApis[] = {
    {"/v1/chat/completions", "chatcmpl-", protocol::prepare_chat_completion},
    {"/v1/messages", "msg_", protocol::prepare_messages},
    {"/v1/responses", "resp_", protocol::prepare_responses},
    {"/v1/completions", "cmpl-", protocol::prepare_completions},
};

class CompletionHandler {
 public:
  CompletionHandler(const CompletionApi& api, const Service& service, const HttpConfig& config)
      : api_(api), service_(service), config_(config) {}

  void handle(Exchange& exchange, httplib::Response& res) const {
    if (!accept_json_body(exchange, res)) {
      return;
    }
    if (const Status status = serve(exchange, res); !status.is_ok()) {
      // Nobody reads this one; the connection is closed behind it.
      exchange.close = status.code() == StatusCode::kCancelled;
      answer_error(exchange, res, status);
    }
  }

 private:
  Status serve(Exchange& exchange, httplib::Response& res) const {
    DI_ASSIGN(const ServedModel* model, service_.ready());
    const base::TimePoint start = base::steady_now();
    DI_ASSIGN(protocol::PreparedCompletion prepared,
              api_.prepare(exchange.body, model->info, *model->recipe,
                           std::string(api_.id_prefix) + exchange.request_id, unix_seconds()));
    exchange.drop_body();
    const double recipe_s = base::seconds_between(start, base::steady_now());
    set_deadlines(prepared.requests, exchange, config_.request_timeout);
    const bool stream = prepared.stream;
    DI_ASSIGN(std::unique_ptr<CompletionStream> completion,
              CompletionStream::submit(
                  *model->llm, std::move(prepared), interruption_of(exchange, service_),
                  RawOutputLog(model->recipe->tokenizer(), exchange.request_id)));
    return stream ? answer_stream(exchange, std::move(completion), res)
                  : answer_plain(exchange, *completion, recipe_s, res);
  }

  Status answer_plain(const Exchange& exchange, CompletionStream& completion, double recipe_s,
                      httplib::Response& res) const {
    std::vector<Event> unused;
    auto state = CompletionStream::State::kRunning;
    while (state == CompletionStream::State::kRunning) {
      unused.clear();
      state = completion.advance(base::steady_now() + kFarAway, unused);
    }
    service_.add_invalid_arguments(completion.assembler().invalid_arguments());
    if (state == CompletionStream::State::kFailed) {
      return completion.failure();
    }
    res.status = 200;
    res.set_header(
        "Server-Timing",
        server_timing(recipe_s, base::seconds_between(exchange.received, base::steady_now()),
                      completion.timings()));
    res.set_content(completion.assembler().response(), "application/json");
    return Status::ok();
  }

  Status answer_stream(const Exchange& exchange, std::unique_ptr<CompletionStream> completion,
                       httplib::Response& res) const {
    const milliseconds keep_alive = config_.sse_keep_alive_interval;
    const milliseconds head_delay =
        keep_alive.count() > 0 ? std::min(keep_alive, kMaxHeadDelay) : kMaxHeadDelay;
    auto body = std::make_shared<StreamBody>();
    body->service = &service_;
    body->state = completion->advance(base::steady_now() + head_delay, body->events);
    if (body->state == CompletionStream::State::kFailed && body->events.empty()) {
      return completion->failure();
    }
    body->completion = std::move(completion);
    body->keep_alive = keep_alive;
    body->errors = error_style(exchange.head.path, exchange.request_id);
    res.status = 200;
    res.set_header("Cache-Control", "no-cache");
    res.set_header("X-Accel-Buffering", "no");
    set_provider(exchange.head.minor_version, std::move(body), res);
    return Status::ok();
  }

  // The library copies providers, so the body is shared; one thread touches it.
  static void set_provider(int minor_version, std::shared_ptr<StreamBody> body,
                           httplib::Response& res) {
    const auto provider = [body = std::move(body)](size_t /*offset*/, httplib::DataSink& sink) {
      return write_stream_caught(sink, *body);
    };
    if (minor_version == 0) {
      res.set_content_provider("text/event-stream", provider);
    } else {
      res.set_chunked_content_provider("text/event-stream", provider);
    }
  }

  const CompletionApi& api_;
  const Service& service_;
  const HttpConfig& config_;
};

}  // namespace

void add_completion_routes(RouteTable& routes, const Service& service, const HttpConfig& config) {
  for (const CompletionApi& api : kApis) {
    const CompletionHandler handler(api, service, config);
    routes.add({.method = "POST",
                .path = std::string(api.path),
                .handler = [handler](Exchange& exchange,
                                     httplib::Response& res) { handler.handle(exchange, res); },
                .long_running = true});
  }
}

}  // namespace deepinfer::server
