#include "recipe/pre_tokenizer.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "recipe/json_member.h"

namespace deepinfer::recipe {
namespace {

/// What ByteLevel splits by when its `use_regex` is on. Source: GPT-2's encoder.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// More steps than any real file has.
constexpr size_t kMaxSteps = 32;

}  // namespace

/// A stretch of text between or in matches.
struct PreTokenizer::Segment {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

Result<PreTokenizer::Behavior> PreTokenizer::parse_behavior(const nlohmann::json& value,
                                                            const std::string& where) {
  DI_ASSIGN(const std::string name, string_member(value, "behavior", where));
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return failed_precondition(where +
                             ".behavior: expected Removed, Isolated, MergedWithPrevious, "
                             "MergedWithNext or Contiguous, got " +
                             name);
}

Result<PreTokenizer::Step> PreTokenizer::parse_split(const nlohmann::json& value,
                                                     const std::string& where) {
  DI_ASSIGN(const Behavior behavior, parse_behavior(value, where));
  DI_ASSIGN(const bool invert, bool_member(value, "invert", where, false));
  const nlohmann::json& source = member_or_null(value, "pattern");
  const nlohmann::json& regex = member_or_null(source, "Regex");
  const nlohmann::json& literal = member_or_null(source, "String");
  if (regex.is_string() == literal.is_string()) {
    return wrong_member(where + ".pattern", "an object with a string Regex or String", source);
  }
  auto pattern = regex.is_string() ? Pattern::compile(regex.get<std::string>())
                                   : Pattern::literal(literal.get<std::string>());
  if (!pattern) return pattern.error().with_context(where + ".pattern");
  return Step{.pattern = std::move(*pattern), .behavior = behavior, .invert = invert};
}

Result<PreTokenizer::Step> PreTokenizer::parse_digits(const nlohmann::json& value,
                                                      const std::string& where) {
  DI_ASSIGN(const bool individual, bool_member(value, "individual_digits", where, false));
  DI_ASSIGN(Pattern pattern, Pattern::compile(individual ? R"(\p{N})" : R"(\p{N}+)"));
  return Step{.pattern = std::move(pattern)};
}

Status PreTokenizer::parse_byte_level(const nlohmann::json& value, const std::string& where,
                                      std::vector<Step>& steps) {
  DI_ASSIGN(const bool add_prefix_space, bool_member(value, "add_prefix_space", where, true));
  if (add_prefix_space) {
    return unimplemented(where + ".add_prefix_space: expected false, got true");
  }
  DI_TRY(bool_member(value, "trim_offsets", where, true));
  DI_ASSIGN(const bool use_regex, bool_member(value, "use_regex", where, true));
  if (!use_regex) return Status::ok();
  DI_ASSIGN(Pattern pattern, Pattern::compile(kGpt2Pattern));
  steps.push_back(Step{.pattern = std::move(pattern)});
  return Status::ok();
}

Status PreTokenizer::parse_one(const nlohmann::json& value, const std::string& where, bool is_last,
                               std::vector<Step>& steps) {
  DI_ASSIGN(const std::string type, string_member(value, "type", where));
  if ((type == "ByteLevel") != is_last) {
    return failed_precondition(where + ".type: expected " +
                               (is_last ? "ByteLevel last" : "ByteLevel nowhere but last") +
                               ", got " + type);
  }
  if (type == "ByteLevel") return parse_byte_level(value, where, steps);
  if (type != "Split" && type != "Digits") {
    return unimplemented(where + ".type: expected Split, Digits, ByteLevel or Sequence, got " +
                         type);
  }
  DI_ASSIGN(Step step, type == "Split" ? parse_split(value, where) : parse_digits(value, where));
  steps.push_back(std::move(step));
  return Status::ok();
}

Result<PreTokenizer> PreTokenizer::parse(const nlohmann::json& value) {
  const std::string where = "pre_tokenizer";
  if (!value.is_object()) return wrong_member(where, "an object", value);
  PreTokenizer result;
  if (member_or_null(value, "type") != "Sequence") {
    DI_TRY(parse_one(value, where, true, result.steps_));
    return result;
  }
  const nlohmann::json& list = member_or_null(value, "pretokenizers");
  if (!list.is_array() || list.empty() || list.size() > kMaxSteps) {
    return wrong_member(where + ".pretokenizers",
                        "a list of 1 to " + std::to_string(kMaxSteps) + " objects", list);
  }
  for (size_t i = 0; i < list.size(); ++i) {
    DI_TRY(parse_one(list[i], where + ".pretokenizers[" + std::to_string(i) + "]",
                     i + 1 == list.size(), result.steps_));
  }
  return result;
}

void PreTokenizer::find_segments(const Step& step, std::string_view text, PatternMatcher& matcher,
                                 std::vector<Segment>& segments) {
  segments.clear();
  size_t done = 0;
  size_t search = 0;
  while (search <= text.size()) {
    const auto match = matcher.find(step.pattern, text, search);
    if (!match) break;
    if (match->begin > done) segments.push_back({done, match->begin, step.invert});
    if (match->end > match->begin) segments.push_back({match->begin, match->end, !step.invert});
    done = match->end;
    search = match->end;
    if (match->end == match->begin) {
      // An empty match is a border; the search goes on behind the next character.
      do {
        ++search;
      } while (search < text.size() && (static_cast<unsigned char>(text[search]) & 0xC0U) == 0x80U);
    }
  }
  if (done < text.size()) segments.push_back({done, text.size(), step.invert});
}

void PreTokenizer::append_pieces(const Step& step, const std::vector<Segment>& segments,
                                 size_t offset, std::vector<Piece>& pieces) {
  const size_t first = pieces.size();
  bool previous_is_match = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment& segment = segments[i];
    const bool joins_previous =
        i > 0 &&
        ((step.behavior == Behavior::kContiguous && segment.is_match == previous_is_match) ||
         (step.behavior == Behavior::kMergedWithPrevious && segment.is_match &&
          !previous_is_match) ||
         (step.behavior == Behavior::kMergedWithNext && !segment.is_match && previous_is_match));
    const bool removed = step.behavior == Behavior::kRemoved && segment.is_match;
    if (joins_previous && pieces.size() > first) {
      pieces.back().end = offset + segment.end;
    } else if (!removed) {
      pieces.push_back({offset + segment.begin, offset + segment.end});
    }
    previous_is_match = segment.is_match;
  }
}

void PreTokenizer::split(std::string_view text, std::vector<Piece>& pieces) const {
  pieces.clear();
  if (text.empty()) return;
  pieces.push_back({0, text.size()});
  PatternMatcher matcher;
  std::vector<Piece> next;
  std::vector<Segment> segments;
  for (const Step& step : steps_) {
    next.clear();
    for (const Piece& piece : pieces) {
      find_segments(step, text.substr(piece.begin, piece.end - piece.begin), matcher, segments);
      append_pieces(step, segments, piece.begin, next);
    }
    pieces.swap(next);
  }
}

}  // namespace deepinfer::recipe
