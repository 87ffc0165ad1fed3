#pragma once

/// The free text that a custom tool takes, out of the arguments of the call it stands for.

#include <string>
#include <string_view>

namespace deepinfer::protocol {

/// Reads `{"input": "..."}` piece by piece. Arguments that are anything else go to the client as
/// they stand; what follows the text is dropped. One call, one thread.
class CustomInput {
 public:
  /// The text that this piece of the arguments releases.
  std::string push(std::string_view arguments);
  /// What is still held back at the end of the arguments.
  std::string finish();

 private:
  enum class State { kBefore, kText, kAfter, kAsItStands };

  void take_text(char c, std::string& out);

  State state_ = State::kBefore;
  /// Seen of the beginning, or of an escape.
  std::string held_;
};

}  // namespace deepinfer::protocol
