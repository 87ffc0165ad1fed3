#include "kernels/select.h"

#include <utility>

#include "kernels/cpu/reference/table.h"

namespace deepinfer::kernels {
namespace {

/// One slot of the table, for copying and comparing tables without naming every op again.
struct Slot {
  std::string_view name;
  const void* (*read)(const OpTable&);
};

#define DI_SLOT(op)                                                               \
  Slot {                                                                          \
#op, [](const OpTable& ops) { return reinterpret_cast<const void*>(ops.op); } \
  }

constexpr Slot kSlots[] = {
    DI_SLOT(embed),         DI_SLOT(rms_norm),         DI_SLOT(hc_mix),
    DI_SLOT(hc_collapse),   DI_SLOT(hc_expand),        DI_SLOT(linear),
    DI_SLOT(rope),          DI_SLOT(scatter_rows),     DI_SLOT(gather_rows),
    DI_SLOT(compress_pool), DI_SLOT(index_scores),     DI_SLOT(candidate_blocks),
    DI_SLOT(select_top_k),  DI_SLOT(sparse_attention), DI_SLOT(moe_gate),
    DI_SLOT(swiglu),        DI_SLOT(moe_combine),      DI_SLOT(engram_gather),
    DI_SLOT(engram_apply),
};
#undef DI_SLOT

static_assert(sizeof(kSlots) / sizeof(Slot) == sizeof(OpTable) / sizeof(void (*)()),
              "every op of the table needs a slot here");

std::vector<Variant> detect_variants() {
  std::vector<Variant> variants;
  variants.push_back({"reference", true, {}, reference::fill});
  return variants;
}

std::string known_names() {
  std::string names;
  for (const Variant& variant : cpu_variants()) {
    names += names.empty() ? "" : ", ";
    names += variant.name;
  }
  return names;
}

/// The variant called `name`, or why it cannot be used.
Result<const Variant*> find_variant(std::string_view name) {
  for (const Variant& variant : cpu_variants()) {
    if (variant.name != name) {
      continue;
    }
    if (!variant.supported) {
      return invalid_argument("kernel variant '" + std::string(name) +
                              "' needs a CPU and operating system with " +
                              std::string(variant.missing) + ", which this machine lacks");
    }
    return &variant;
  }
  return invalid_argument("kernel variant must be one of " + known_names() + ", got '" +
                          std::string(name) + "'");
}

}  // namespace

const std::vector<Variant>& cpu_variants() {
  static const std::vector<Variant> kVariants = detect_variants();
  return kVariants;
}

Result<SelectedOps> select_cpu_ops(std::string_view forced) {
  const Variant* last = nullptr;
  if (!forced.empty()) {
    DI_ASSIGN(last, find_variant(forced));
  }
  SelectedOps selected;
  for (const Slot& slot : kSlots) {
    selected.origin.emplace_back(slot.name, std::string_view());
  }
  for (const Variant& variant : cpu_variants()) {
    if (variant.supported) {
      const OpTable before = selected.ops;
      variant.fill(selected.ops);
      selected.variant = variant.name;
      for (size_t i = 0; i < selected.origin.size(); ++i) {
        if (kSlots[i].read(selected.ops) != kSlots[i].read(before)) {
          selected.origin[i].second = variant.name;
        }
      }
    }
    if (&variant == last) {
      break;
    }
  }
  return selected;
}

}  // namespace deepinfer::kernels
