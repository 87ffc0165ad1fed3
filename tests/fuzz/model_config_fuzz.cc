// Texts of a config.json. One that passes describes tensors that can be listed and counted.

#include "fuzz/fuzz.h"
#include "model/model_config.h"
#include "model/tensor_inventory.h"

using namespace deepinfer;  // a target is one function

namespace {

/// Listing the tensors of a larger model only costs time.
bool is_small(const model::ModelConfig& config) {
  return config.num_hidden_layers * (4 + config.n_routed_experts) < 2000 &&
         config.num_nextn_predict_layers * (4 + config.dspark_n_routed_experts) < 2000;
}

void expect_usable(const model::ModelConfig& config) {
  fuzz::expect(model::validate_topology(config).is_ok(), "a topology that is not checked");
  for (int32_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (config.ratio(layer) > 0) {
      const int32_t source = config.kv_source(layer);
      fuzz::expect(source >= 0 && source <= layer, "a source behind its layer");
      fuzz::expect(config.is_kv_source(source), "a source that is none");
      const int32_t index = config.index_source(layer);
      fuzz::expect(index >= 0 && index <= layer, "an index source behind its layer");
    }
  }
  if (!is_small(config)) {
    return;
  }
  for (const model::TensorSpec& spec : model::tensor_inventory(config)) {
    fuzz::expect(spec.bytes() > 0, "a tensor without bytes", spec.name);
    for (const int64_t length : spec.shape) {
      fuzz::expect(length > 0, "a tensor without elements", spec.name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = model::parse_model_config(fuzz::as_text(data, size));
  if (config) {
    expect_usable(*config);
  } else {
    fuzz::expect_bad_file(config.error());
  }
  return 0;
}
