#include "protocol/request_parts.h"

namespace deepinfer::protocol {

static Status read_value(const Json& value, const ReadContext& context, ThinkingType& target) {
  return read_enum<ThinkingType>(value, context,
                                 {{"enabled", ThinkingType::kEnabled},
                                  {"disabled", ThinkingType::kDisabled},
                                  {"adaptive", ThinkingType::kEnabled}},
                                 target);
}

Status read_value(const Json& value, const ReadContext& context, RequestThinking& target) {
  static constexpr Field<RequestThinking> kFields[] = {
      field<&RequestThinking::type>("type", Presence::kRequired),
      field<&RequestThinking::budget_tokens>("budget_tokens"),
  };
  return read_members(value, context, kFields, target);
}

Status read_value(const Json& value, const ReadContext& context, EffortName& target) {
  return read_enum<EffortName>(value, context,
                               {{"none", EffortName::kNone},
                                {"minimal", EffortName::kMinimal},
                                {"low", EffortName::kLow},
                                {"medium", EffortName::kMedium},
                                {"high", EffortName::kHigh},
                                {"xhigh", EffortName::kXhigh},
                                {"ultra", EffortName::kUltra},
                                {"max", EffortName::kMax}},
                               target);
}

}  // namespace deepinfer::protocol
