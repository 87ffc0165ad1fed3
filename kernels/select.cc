#include "kernels/select.h"

#include <utility>

#include "kernels/cpu/reference/table.h"
#if defined(__x86_64__)
#include <cpuid.h>

#include "kernels/cpu/avx2/table.h"
#include "kernels/cpu/avx512/table.h"
#endif

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

#if defined(__x86_64__)
// The only one that clang's builtin does not know. It works on the registers of AVX, so the
// operating system saves them if it does for AVX2.
bool cpu_has_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// The builtins ask the operating system (XGETBV) too, not only the CPU.
std::string_view missing_for_avx2() {
  if (!__builtin_cpu_supports("avx2")) {
    return "avx2";
  }
  if (!__builtin_cpu_supports("fma")) {
    return "fma";
  }
  return cpu_has_f16c() ? "" : "f16c";
}

std::string_view missing_for_avx512() {
  if (!__builtin_cpu_supports("avx512f")) {
    return "avx512f";
  }
  if (!__builtin_cpu_supports("avx512bw")) {
    return "avx512bw";
  }
  if (!__builtin_cpu_supports("avx512vl")) {
    return "avx512vl";
  }
  if (!__builtin_cpu_supports("avx512dq")) {
    return "avx512dq";
  }
  return missing_for_avx2();
}
#endif

Variant describe(std::string_view name, std::string_view missing, void (*fill)(OpTable&)) {
  return {.name = name, .supported = missing.empty(), .missing = missing, .fill = fill};
}

std::vector<Variant> detect_variants() {
  std::vector<Variant> variants = {describe("reference", {}, reference::fill)};
#if defined(__x86_64__)
  __builtin_cpu_init();
  variants.push_back(describe("avx2", missing_for_avx2(), avx2::fill));
  variants.push_back(describe("avx512", missing_for_avx512(), avx512::fill));
#endif
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
