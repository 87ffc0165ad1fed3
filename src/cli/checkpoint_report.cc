#include "cli/checkpoint_report.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/json_file.h"
#include "model/safetensors.h"
#include "model/tensor_inventory.h"
#include "model/weight_index.h"
#include "recipe/recipe.h"

namespace deepinfer::cli {
namespace {

namespace fs = std::filesystem;

// Missing tensors listed by name for one part; the others are counted.
constexpr size_t kNamedPerPart = 4;

struct FoundTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  bool used = false;
};

class Inspector {
 public:
  explicit Inspector(const std::string& model_dir) { report_.model_dir = model_dir; }

  CheckpointReport inspect(const std::string& tokenizer_dir) {
    std::error_code error;
    if (!fs::is_directory(report_.model_dir, error)) {
      problem(error ? fmt::format("{}: {}", report_.model_dir, error.message())
                    : "no such directory: " + report_.model_dir);
      return std::move(report_);
    }
    read_config();
    read_tokenizer(tokenizer_dir);
    read_index();
    for (const auto& [file, names] : files_) {
      read_shard(file, names);
    }
    if (report_.config.has_value()) {
      compare_with_inventory();
    }
    sum_up_the_rest();
    return std::move(report_);
  }

 private:
  void problem(std::string text) { report_.problems.push_back(std::move(text)); }

  void read_config() {
    Result<model::ModelConfig> config = model::load_model_config(report_.model_dir);
    if (config.has_value()) {
      report_.config = std::move(config).value();
    } else {
      problem(config.error().message());
    }
  }

  void read_tokenizer(const std::string& tokenizer_dir) {
    const auto recipe = recipe::Recipe::make(report_.model_dir, tokenizer_dir);
    if (recipe.has_value()) {
      report_.has_chat_tokens = (*recipe)->has_chat_tokens();
    } else {
      problem(recipe.error().message());
    }
  }

  // Fills files_ from the index, or from the directory where there is none.
  void read_index() {
    const fs::path dir = report_.model_dir;
    std::error_code error;
    if (fs::exists(dir / model::kIndexFile, error)) {
      read_weight_map(dir / model::kIndexFile);
      return;
    }
    auto entry = fs::directory_iterator(dir, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".safetensors") {
        files_[entry->path().filename().string()] = std::nullopt;
      }
    }
    if (error) {
      problem(fmt::format("{}: {}", report_.model_dir, error.message()));
    } else if (files_.empty()) {
      problem(fmt::format("no weights: neither {} nor a *.safetensors file", model::kIndexFile));
    }
  }

  void read_weight_map(const fs::path& path) {
    const auto index = read_index_file(path.string());
    if (!index.has_value()) {
      problem(index.error().message());
      return;
    }
    for (const auto& [file, names] : *index) {
      files_[file].emplace(names.begin(), names.end());
    }
  }

  static Result<model::WeightIndex> read_index_file(const std::string& path) {
    DI_ASSIGN(const model::Json json, model::read_json_file(path));
    return model::parse_weight_index(json, path);
  }

  void read_shard(const std::string& name, const std::optional<std::set<std::string>>& listed) {
    const fs::path path = fs::path(report_.model_dir) / name;
    const auto file = model::SafetensorsFile::open(path.string());
    if (!file.has_value()) {
      problem(file.error().message());
      return;
    }
    ShardSummary shard{.name = name};
    for (const auto& [tensor, stored] : (*file)->tensors()) {
      const auto bytes = static_cast<int64_t>(stored.data.size());
      ++shard.num_tensors;
      shard.bytes += bytes;
      if (listed.has_value() && !listed->contains(tensor)) {
        continue;  // loading goes by the index, too
      }
      const auto [entry, fresh] = tensors_.try_emplace(
          std::string(model::plain_name(tensor)), FoundTensor{stored.dtype, stored.shape, bytes});
      if (!fresh) {
        problem(fmt::format("{}: {} is also in another file", name, tensor));
      }
    }
    for (const std::string& tensor : listed.value_or(std::set<std::string>())) {
      if (!(*file)->tensors().contains(tensor)) {
        problem(
            fmt::format("{}: {} is not in it, though {} says so", name, tensor, model::kIndexFile));
      }
    }
    report_.shards.push_back(std::move(shard));
  }

  void compare_with_inventory() {
    std::map<std::string_view, std::vector<std::string>> missing;
    for (const model::TensorSpec& spec : model::tensor_inventory(*report_.config)) {
      PartSummary& part = part_named(spec.part);
      for (const model::StoredSpec& wanted : spec.stored()) {
        const auto found = tensors_.find(wanted.name);
        if (found == tensors_.end()) {
          if (spec.required || spec.part == "draft") {
            missing[spec.part].push_back(wanted.name);
          }
          continue;
        }
        found->second.used = true;
        ++part.num_tensors;
        part.bytes += found->second.bytes;
        compare(wanted, found->second);
      }
    }
    report_missing(missing);
  }

  void compare(const model::StoredSpec& wanted, const FoundTensor& found) {
    if (found.dtype != wanted.dtype || found.shape != wanted.shape) {
      problem(fmt::format("{}: expected {} [{}], found {} [{}]", wanted.name, wanted.dtype,
                          fmt::join(wanted.shape, ", "), found.dtype,
                          fmt::join(found.shape, ", ")));
    }
  }

  void report_missing(const std::map<std::string_view, std::vector<std::string>>& missing) {
    report_.has_draft_weights =
        report_.config->num_nextn_predict_layers > 0 && !missing.contains("draft");
    for (const auto& [part, names] : missing) {
      if (part == "draft") {
        continue;  // The text model runs without.
      }
      const size_t named = std::min(names.size(), kNamedPerPart);
      std::string text = fmt::format(
          "{}: {} tensors missing: {}", part, names.size(),
          fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "));
      problem(named < names.size() ? text + ", …" : text);
    }
  }

  void sum_up_the_rest() {
    PartSummary rest{.name = kUnusedPart};
    for (const auto& [name, tensor] : tensors_) {
      if (!tensor.used) {
        ++rest.num_tensors;
        rest.bytes += tensor.bytes;
      }
    }
    if (rest.num_tensors > 0) {
      report_.parts.push_back(std::move(rest));
    }
  }

  PartSummary& part_named(std::string_view name) {
    const auto found = std::find_if(report_.parts.begin(), report_.parts.end(),
                                    [name](const PartSummary& part) { return part.name == name; });
    return found != report_.parts.end()
               ? *found
               : report_.parts.emplace_back(PartSummary{.name = std::string(name)});
  }

  CheckpointReport report_;
  /// File -> tensors the index places in it; no index, no set.
  std::map<std::string, std::optional<std::set<std::string>>> files_;
  std::map<std::string, FoundTensor, std::less<>> tensors_;
};

}  // namespace

CheckpointReport inspect_checkpoint(const std::string& model_dir,
                                    const std::string& tokenizer_dir) {
  return Inspector(model_dir).inspect(tokenizer_dir);
}

}  // namespace deepinfer::cli
