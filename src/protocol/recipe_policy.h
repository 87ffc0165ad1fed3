#pragma once

/// Where the server does better than the reference library: every difference is one switch
/// here, explained and tested in docs/recipe-differences.md. The code has one path; it asks a
/// switch at the point where the two differ.

#include <cstdint>

namespace deepinfer::protocol {

/// The defaults follow the reference library.
struct RecipePolicy {
  // Reading the body.
  int32_t max_json_depth = 127;
  bool refuse_duplicate_keys = false;
  bool max_completion_tokens = false;
  bool developer_role = false;
  bool reasoning_alias = false;
  bool template_arguments = false;
  bool lenient_tool_calls = false;
  bool custom_tool_type = false;
  bool messages_extensions = false;
  bool include_logprobs = false;
  bool refuse_stateful = false;

  // Checking and converting.
  bool served_models = false;
  bool several_choices = false;
  bool sampling_extensions = false;
  bool requested_sampling = false;
  bool thinking_budget = false;
  bool parallel_tool_calls = false;
  bool any_forces_a_call = false;
  bool empty_schema = false;
  bool added_tools_once = false;
  bool refuse_unenforced = false;
  bool refuse_images = false;
  bool refuse_unknown_tools = false;
  bool custom_tools = false;
  bool searched_namespaces = false;
  bool calls_in_order = false;
  bool bounded_stop = false;
  bool output_to_context_end = false;
  bool context_length_code = false;
  bool error_param = false;
  bool messages_errors = false;

  // Parsing and writing the output.
  bool hide_markup = false;
  bool typed_arguments = false;
  bool whole_calls_only = false;
  bool report_tools_in_force = false;
  bool flush_partial_character = false;
  bool pad_json = true;
  bool lean_deltas = false;
  bool usage_chunk = false;
  bool continuous_usage = false;
  bool lean_blocks = false;
  bool logprobs_once = false;
  bool count_as_generated = false;

  static constexpr RecipePolicy reference() { return {}; }
  /// What the wire speaks.
  static constexpr RecipePolicy server();
};

constexpr RecipePolicy RecipePolicy::server() {
  return {
      .max_json_depth = 64,
      .refuse_duplicate_keys = true,
      .max_completion_tokens = true,
      .developer_role = true,
      .reasoning_alias = true,
      .template_arguments = true,
      .lenient_tool_calls = true,
      .custom_tool_type = true,
      .messages_extensions = true,
      .include_logprobs = true,
      .refuse_stateful = true,
      .served_models = true,
      .several_choices = true,
      .sampling_extensions = true,
      .requested_sampling = true,
      .thinking_budget = true,
      .parallel_tool_calls = true,
      .any_forces_a_call = true,
      .empty_schema = true,
      .added_tools_once = true,
      .refuse_unenforced = true,
      .refuse_images = true,
      .refuse_unknown_tools = true,
      .custom_tools = true,
      .searched_namespaces = true,
      .calls_in_order = true,
      .bounded_stop = true,
      .output_to_context_end = true,
      .context_length_code = true,
      .error_param = true,
      .messages_errors = true,
      .hide_markup = true,
      .typed_arguments = true,
      .whole_calls_only = true,
      .report_tools_in_force = true,
      .flush_partial_character = true,
      .pad_json = false,
      .lean_deltas = true,
      .usage_chunk = true,
      .continuous_usage = true,
      .lean_blocks = true,
      .logprobs_once = true,
      .count_as_generated = true,
  };
}

}  // namespace deepinfer::protocol
