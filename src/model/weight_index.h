#pragma once

/// Names of tensors and of the files that hold them.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "model/json_file.h"

namespace deepinfer::model {

/// The name without the prefix some exports put in front of everything.
std::string_view plain_name(std::string_view name);

/// Whether a tensor belongs to the vision part, which this engine does not load.
bool is_vision(std::string_view plain_name);

/// The file that says which tensor is in which file, if there are several.
inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";

/// Names of tensors by the file that holds them.
using WeightIndex = std::map<std::string, std::vector<std::string>>;

/// `weight_map` of a model.safetensors.index.json, without the vision part. `what` names the
/// file in messages. kFailedPrecondition unless every value is the name of a file beside it.
Result<WeightIndex> parse_weight_index(const Json& index, const std::string& what);

}  // namespace deepinfer::model
