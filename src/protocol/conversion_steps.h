#pragma once

/// Steps of a conversion that the protocols share. Each checks one thing and writes what it
/// means into the converted request; a protocol's conversion calls them in its own order,
/// which decides the error of a request with several faults (recipe spec §3).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/conversion.h"
#include "protocol/request_parts.h"

namespace deepinfer::protocol {

/// What one conversion works on.
struct ConversionJob {
  const ConversionOptions& options;
  const RecipePolicy& policy;
  ConvertedRequest& out;
};

/// `list[index]`
std::string item_of(std::string_view list, size_t index);
/// kInvalidArgument about the member `param`.
Status refuse_member(std::string_view param, std::string message);
/// The same for what is valid and cannot be done yet.
Status unsupported_member(std::string param, const std::string& what);

/// What the request says about calls. A choice without tools counts as none given.
struct ToolUse {
  RequestToolChoice::Kind choice = RequestToolChoice::Kind::kAuto;
  /// Tools are declared to the model.
  bool in_use = false;
  /// One call at most.
  bool single = false;

  /// `parallel` false: the client wants no more than one call.
  ToolUse(const std::vector<RequestTool>& tools, const std::optional<RequestToolChoice>& given,
          std::optional<bool> parallel = {});
  /// The answer must be a call.
  bool forced() const;
};

/// `thinking` decides if given, then the effort, then the server's default.
bool wants_thinking(const std::optional<ThinkingType>& thinking,
                    const std::optional<EffortName>& effort, const ConversionOptions& options);

/// Looks the model up and selects its encoding.
Status select_model(const ConversionJob& job, const std::string& model);

/// What becomes of a tool without a schema.
enum class MissingSchema {
  kEmpty,    ///< It is `{}`.
  kChecked,  ///< The check refuses it, as it refuses null.
};

/// When the schemas of strict tools are rewritten.
enum class StrictRewrite {
  kLater,  ///< By `rewrite_strict_tools`.
  kNow,    ///< Each tool's before the next tool is looked at.
};

/// Checks names for repetition and schemas, and declares the tools. A schema stands at
/// `tools[i]` and `schema_member`.
Status declare_tools(const ConversionJob& job, const std::vector<RequestTool>& tools,
                     std::string_view schema_member, MissingSchema missing = MissingSchema::kEmpty,
                     StrictRewrite rewrite = StrictRewrite::kLater);

/// Rewrites the schemas of strict tools.
Status rewrite_strict_tools(const ConversionJob& job, const ToolUse& use);

/// Declares only the tool that is named, none under `none`. A call forced on thinking is refused
/// or, where calls are enforced, left to come behind the reasoning.
Status apply_tool_choice(const ConversionJob& job, const ToolUse& use, const std::string& named);

/// `member` names the stop sequences, with `[i]` behind it if they came as a list.
Status set_stop_sequences(const ConversionJob& job, const std::vector<std::string>& sequences,
                          bool is_list, std::string_view member);

/// What the encodings do with the request's values is in the table of recipe spec §3.
Status set_temperature(const ConversionJob& job, std::optional<float> given);
Status set_top_p(const ConversionJob& job, std::optional<float> given, bool tools_in_use);

/// Refuses a choice that nothing can meet: a call without tools.
Status refuse_unenforced(const ConversionJob& job, const std::vector<RequestTool>& tools,
                         const std::optional<RequestToolChoice>& choice);

/// Checks the schema of a response format and combinations with strict tools. Returns the
/// schema that a constraint would enforce.
Result<Json> check_response_schema(const ConversionJob& job,
                                   const std::optional<RequestFormat>& format);

/// Effort, response format, constraint and the parser's options, after all checks. The
/// thinking stage is left at its usual start. `format_member` names the format in errors.
void finish_conversion(const ConversionJob& job, const std::optional<EffortName>& effort,
                       const std::optional<RequestFormat>& format, const Json& constraint_schema,
                       const ToolUse& use, std::string_view format_member = "response_format");

/// True if `text` has the word `json`, in any case.
bool contains_json_word(std::string_view text);

/// A past assistant turn, as far as the rule about reasoning passed back looks at it.
struct PastTurn {
  recipe::Role role = recipe::Role::kUser;
  bool has_reasoning = false;
  const std::vector<recipe::ToolCall>* calls = nullptr;
};

/// The first turn after the last user message whose reasoning was not passed back: with tool
/// calls, or any if the request has tools.
std::optional<size_t> missing_reasoning(const std::vector<PastTurn>& turns, bool has_tools);

}  // namespace deepinfer::protocol
