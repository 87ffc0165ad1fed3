#include "protocol/completions/completions_writer.h"

#include <algorithm>

#include "protocol/logprobs_json.h"
#include "recipe/json_text.h"

namespace deepinfer::protocol {
namespace {

using recipe::append_json_string;

void append_ids(const std::vector<TokenId>& ids, std::string& out) {
  out += '[';
  for (size_t i = 0; i < ids.size(); ++i) {
    out += i == 0 ? "" : ",";
    out += std::to_string(ids[i]);
  }
  out += ']';
}

/// `"name":[...]` with one entry per token.
template <typename Append>
void append_list(std::string_view name, const std::vector<CompletionPiece::Token>& tokens,
                 std::string& out, const Append& append) {
  out += '"';
  out += name;
  out += "\":[";
  for (size_t i = 0; i < tokens.size(); ++i) {
    out += i == 0 ? "" : ",";
    append(tokens[i]);
  }
  out += ']';
}

}  // namespace

CompletionsWriter::CompletionsWriter(const Settings& settings, const recipe::Tokenizer& tokenizer)
    : settings_(settings), tokenizer_(tokenizer) {
  prefix_ = R"({"id":)";
  append_json_string(settings.id, prefix_);
  prefix_ += R"(,"object":"text_completion","created":)" + std::to_string(settings.created);
  prefix_ += R"(,"model":)";
  append_json_string(settings.model, prefix_);
  if (!settings.system_fingerprint.empty()) {
    prefix_ += R"(,"system_fingerprint":)";
    append_json_string(settings.system_fingerprint, prefix_);
  }
  prefix_ += R"(,"choices":[)";
}

std::string CompletionsWriter::write(const std::vector<CompletionChoice>& choices,
                                     const ChatUsage* usage) const {
  std::string out = prefix_;
  for (size_t i = 0; i < choices.size(); ++i) {
    out += i == 0 ? "" : ",";
    append_choice(choices[i], out);
  }
  out += ']';
  if (usage != nullptr) {
    out += R"(,"usage":)" + usage_json(*usage);
  }
  out += '}';
  return out;
}

void CompletionsWriter::append_choice(const CompletionChoice& choice, std::string& out) const {
  out += R"({"index":)" + std::to_string(choice.index) + R"(,"text":)";
  append_json_string(choice.piece.text, out);
  out += R"(,"logprobs":)";
  append_logprobs(choice.piece, out);
  out += R"(,"finish_reason":)";
  if (choice.finish_reason.empty()) {
    out += "null";
  } else {
    append_json_string(choice.finish_reason, out);
  }
  if (settings_.token_ids) {
    out += R"(,"token_ids":)";
    append_ids(choice.piece.token_ids, out);
    if (choice.prompt_token_ids != nullptr) {
      out += R"(,"prompt_token_ids":)";
      append_ids(*choice.prompt_token_ids, out);
    }
  }
  out += '}';
}

void CompletionsWriter::append_logprobs(const CompletionPiece& piece, std::string& out) const {
  if (!settings_.logprobs) {
    out += "null";
    return;
  }
  const auto text_of = [&](const TokenLogprob& token) {
    return recipe::token_text(tokenizer_.token_bytes(token.token));
  };
  out += '{';
  append_list("tokens", piece.tokens, out,
              [&](const auto& token) { append_json_string(text_of(token.logprobs.chosen), out); });
  out += ',';
  append_list("token_logprobs", piece.tokens, out, [&](const auto& token) {
    append_logprob(token.logprobs.chosen.logprob, Infinity::kFinite, out);
  });
  out += ',';
  append_list("top_logprobs", piece.tokens, out,
              [&](const auto& token) { append_top(token.logprobs, out); });
  out += ',';
  append_list("text_offset", piece.tokens, out,
              [&](const auto& token) { out += std::to_string(token.offset); });
  out += '}';
}

/// An object by text, the chosen token always in it. Of tokens that read alike the likeliest.
void CompletionsWriter::append_top(const PositionLogprobs& position, std::string& out) const {
  std::vector<std::string> names;
  out += '{';
  const auto add = [&](const TokenLogprob& token) {
    std::string name = recipe::token_text(tokenizer_.token_bytes(token.token));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return;
    }
    out += names.empty() ? "" : ",";
    append_json_string(name, out);
    out += ':';
    append_logprob(token.logprob, Infinity::kFinite, out);
    names.push_back(std::move(name));
  };
  for (const TokenLogprob& token : position.top) {
    add(token);
  }
  add(position.chosen);
  out += '}';
}

}  // namespace deepinfer::protocol
