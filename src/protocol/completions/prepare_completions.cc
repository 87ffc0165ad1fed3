// The door of raw completions: a body in, engine requests and an assembler out.

#include <algorithm>
#include <memory>
#include <utility>

#include "protocol/completion.h"
#include "protocol/completions/completions_assembler.h"
#include "protocol/completions/completions_request.h"
#include "protocol/conversion_steps.h"
#include "protocol/engine_request.h"
#include "protocol/prepared_prompt.h"

namespace deepinfer::protocol {
namespace {

constexpr RecipePolicy kPolicy = RecipePolicy::server();
constexpr uint32_t kDefaultMaxTokens = 16;
constexpr uint8_t kMaxLogprobs = 5;
/// No byte-level vocabulary in use has longer tokens; a bound too high only costs time.
constexpr uint64_t kMaxTokenBytes = 256;
/// Most generations one request may start.
constexpr size_t kMaxGenerations = 128;

using Prompt = CompletionsAssembler::Prompt;

/// The checks that need no tokens; sampling options and stop sequences are converted.
Status check(const CompletionsRequest& request, const ConversionJob& job) {
  const ChatRequest& common = request.common;
  DI_TRY(select_model(job, common.model));
  if (common.n < 1 || common.n > kMaxChoices) {
    return refuse_member(
        "n", "Invalid n value, the valid range of n is [1, " + std::to_string(kMaxChoices) + "]");
  }
  if (request.best_of.value_or(common.n) != common.n) {
    return unsupported_member("best_of", "A `best_of` other than `n`");
  }
  if (request.logprobs.value_or(0) > kMaxLogprobs) {
    return refuse_member("logprobs", "Invalid logprobs value, the valid range of logprobs is [0, " +
                                         std::to_string(kMaxLogprobs) + "]");
  }
  if (request.echo && request.logprobs) {
    return unsupported_member("logprobs",
                              "`logprobs` together with `echo`, which needs log probabilities of "
                              "the prompt,");
  }
  if (common.stream_options && !common.stream) {
    return refuse_member("stream_options", "stream_options should be set along with stream = true");
  }
  if (common.stream_options) {
    job.out.include_usage = common.stream_options->include_usage.value_or(false);
    job.out.continuous_usage =
        job.out.include_usage && common.stream_options->continuous_usage_stats.value_or(false);
  }
  if (common.stop) {
    DI_TRY(set_stop_sequences(job, common.stop->sequences, common.stop->is_list, "stop"));
  }
  DI_TRY(set_temperature(job, common.temperature));
  DI_TRY(set_top_p(job, common.top_p, false));
  job.out.options.logprobs = request.logprobs.has_value();
  job.out.options.top_logprobs = request.logprobs;
  job.out.options.seed = common.seed;
  job.out.options.max_tokens = common.max_tokens;
  return Status::ok();
}

std::string prompt_param(const CompletionsRequest& request, size_t index) {
  return request.prompts.size() == 1 ? "prompt" : item_of("prompt", index);
}

/// Ids of one prompt. Text too long to fit, however its tokens fall, is not tokenized.
Result<std::vector<TokenId>> tokens_of(const CompletionPrompt& prompt, const std::string& param,
                                       bool begins_document, const ServiceInfo& info,
                                       const recipe::Recipe& recipe) {
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&prompt)) {
    for (size_t i = 0; i < tokens->size(); ++i) {
      if ((*tokens)[i] < 0 || (*tokens)[i] >= info.model.vocab_size) {
        std::string message = item_of(param, i);
        message += " must be a token id in [0, " + std::to_string(info.model.vocab_size) +
                   "), got " + std::to_string((*tokens)[i]);
        return refuse_member(param, std::move(message));
      }
    }
    return *tokens;
  }
  const auto& text = std::get<std::string>(prompt);
  if (text.size() / kMaxTokenBytes > static_cast<uint64_t>(info.model.max_model_len)) {
    std::string message = param;
    message += " has " + std::to_string(text.size()) +
               " bytes, too many for the model's maximum context length of " +
               std::to_string(info.model.max_model_len) + " tokens";
    return refuse_member(param, std::move(message)).with_reason("context_length_exceeded");
  }
  std::vector<TokenId> tokens = recipe.tokenizer().encode_full(text);
  if (begins_document && recipe.control().bos >= 0) {
    tokens.insert(tokens.begin(), recipe.control().bos);
  }
  return tokens;
}

/// Without a limit a prompt that leaves less than the usual room gets what there is.
Result<int32_t> max_tokens_of(const ConvertedRequest& converted, size_t prompt_tokens,
                              const std::string& param, const ServiceInfo& info) {
  const auto context = static_cast<uint64_t>(info.model.max_model_len);
  if (converted.options.max_tokens == 0) {
    return refuse_member("max_tokens", "`max_tokens` must be at least 1, got 0");
  }
  const auto limit = resolve_max_tokens(converted, prompt_tokens, context, kPolicy);
  if (!limit) {
    Status status = limit.error();
    return std::move(status).with_param(param);
  }
  const uint32_t standard = info.default_max_tokens > 0
                                ? static_cast<uint32_t>(info.default_max_tokens)
                                : kDefaultMaxTokens;
  const uint32_t wanted = converted.options.max_tokens.value_or(std::min(*limit, standard));
  return static_cast<int32_t>(std::min<uint32_t>(wanted, INT32_MAX));
}

std::string text_of(const std::vector<TokenId>& tokens, const recipe::Tokenizer& tokenizer) {
  recipe::IncrementalDetokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId token : tokens) {
    text += detokenizer.push(token);
  }
  return text + detokenizer.finish();
}

std::string echo_of(const CompletionPrompt& prompt, const std::vector<TokenId>& tokens,
                    const recipe::Recipe& recipe) {
  const auto* text = std::get_if<std::string>(&prompt);
  return text != nullptr ? *text : text_of(tokens, recipe.tokenizer());
}

/// One request per choice; with a seed, each choice of a prompt has its own.
void add_choices(const GenerateRequest& request, int32_t num_choices,
                 std::vector<GenerateRequest>& requests) {
  for (int32_t i = 0; i < num_choices; ++i) {
    GenerateRequest& choice = requests.emplace_back(request);
    if (choice.sampling.seed) {
      choice.sampling.seed = *choice.sampling.seed + static_cast<uint64_t>(i);
    }
  }
}

CompletionsAssembler::Settings settings_of(const CompletionsRequest& request,
                                           const ConvertedRequest& converted,
                                           const ServiceInfo& info, const std::string& response_id,
                                           int64_t created) {
  const ChatRequest& common = request.common;
  return {.writer = {.id = response_id,
                     .model = info.model_names.front(),
                     .created = created,
                     .system_fingerprint = info.model.system_fingerprint,
                     .logprobs = request.logprobs.has_value(),
                     .token_ids = request.return_token_ids},
          .num_choices = common.n,
          .stream = common.stream,
          .include_usage = converted.include_usage,
          .continuous_usage = converted.continuous_usage,
          .stop_sequences = converted.parsing.stop_sequences,
          .policy = kPolicy};
}

/// Prepares the prompts one by one, each with its choices.
class PromptPreparer {
 public:
  PromptPreparer(const CompletionsRequest& request, const ConvertedRequest& converted,
                 const ServiceInfo& info, const recipe::Recipe& recipe)
      : request_(request), converted_(converted), info_(info), recipe_(recipe) {}

  /// `engine_request` has all but the prompt and the limit.
  Status add(size_t index, GenerateRequest engine_request, std::vector<Prompt>& prompts,
             std::vector<GenerateRequest>& requests) const {
    const CompletionPrompt& prompt = request_.prompts[index];
    const std::string param = prompt_param(request_, index);
    DI_ASSIGN(engine_request.prompt,
              tokens_of(prompt, param, request_.add_special_tokens, info_, recipe_));
    if (engine_request.prompt.empty()) {
      return refuse_member(param, std::string(param).append(" must hold at least one token"));
    }
    DI_ASSIGN(engine_request.max_tokens,
              max_tokens_of(converted_, engine_request.prompt.size(), param, info_));
    DI_TRY(validate(engine_request));
    prompts.push_back(
        {.tokens = engine_request.prompt,
         .echo = request_.echo ? echo_of(prompt, engine_request.prompt, recipe_) : std::string()});
    add_choices(engine_request, request_.common.n, requests);
    return Status::ok();
  }

 private:
  const CompletionsRequest& request_;
  const ConvertedRequest& converted_;
  const ServiceInfo& info_;
  const recipe::Recipe& recipe_;
};

Status check_number(const CompletionsRequest& request) {
  const size_t generations = request.prompts.size() * request.common.n;
  return generations >= 1 && generations <= kMaxGenerations
             ? Status::ok()
             : refuse_member("prompt", "`prompt` must hold 1 to " +
                                           std::to_string(kMaxGenerations / request.common.n) +
                                           " prompts, got " +
                                           std::to_string(request.prompts.size()));
}

}  // namespace

Result<PreparedCompletion> prepare_completions(std::string_view body, const ServiceInfo& info,
                                               const recipe::Recipe& recipe,
                                               const std::string& response_id, int64_t created) {
  DI_ASSIGN(const CompletionsRequest request, parse_completions_request(body, kPolicy));
  const ConversionOptions options = served_options(info, recipe);
  ConvertedRequest converted;
  DI_TRY(check(request, {options, kPolicy, converted}));
  DI_TRY(check_number(request));
  DI_ASSIGN(GenerateRequest engine_request,
            make_engine_request(request.common, converted, info.model));
  engine_request.id = response_id;
  engine_request.constraint = request.common.guided;
  engine_request.min_tokens =
      static_cast<int32_t>(std::min<uint32_t>(request.common.min_tokens.value_or(0), INT32_MAX));

  PreparedCompletion prepared;
  prepared.stream = request.common.stream;
  auto settings = settings_of(request, converted, info, response_id, created);
  settings.end_tokens = end_tokens(info, engine_request);
  const PromptPreparer preparer(request, converted, info, recipe);
  for (size_t i = 0; i < request.prompts.size(); ++i) {
    DI_TRY(preparer.add(i, engine_request, settings.prompts, prepared.requests));
  }
  prepared.assembler = std::make_unique<CompletionsAssembler>(settings, recipe);
  return prepared;
}

}  // namespace deepinfer::protocol
