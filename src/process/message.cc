#include "process/message.h"

#include <exception>

#include "process/descriptions.h"

namespace deepinfer::process {
namespace {

// Deeper than any message; the library reads nested arrays by recursion.
constexpr int kMaxDepth = 12;

// Looks at nesting only.
class DepthCheck : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return false; }
  bool key(string_t& /*value*/) override { return false; }
  bool end_object() override { return false; }
  bool start_array(std::size_t /*size*/) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return false;
  }

 private:
  int depth_ = 0;
};

template <typename Message>
std::string encode_variant(const Message& message) {
  Json array = std::visit(
      [](const auto& content) {
        Writer writer;
        // Descriptions serve both directions, so they take what they read.
        describe(writer, const_cast<std::remove_cvref_t<decltype(content)>&>(content));
        return writer.take();
      },
      message);
  const Json frame = Json::array({message.index(), std::move(array)});
  std::string bytes;
  Json::to_cbor(frame, bytes);
  return bytes;
}

template <typename Message, size_t kIndex = 0>
Result<Message> read_alternative(size_t index, const Json& members) {
  if constexpr (kIndex == std::variant_size_v<Message>) {
    return invalid_argument(fmt::format("{} is no kind of message", index));
  } else if (index == kIndex) {
    std::variant_alternative_t<kIndex, Message> content;
    Reader reader(members);
    describe(reader, content);
    DI_TRY(reader.finish());
    return Message(std::move(content));
  } else {
    return read_alternative<Message, kIndex + 1>(index, members);
  }
}

template <typename Message>
Result<Message> decode_variant(std::string_view bytes) {
  DepthCheck check;
  if (!Json::sax_parse(bytes.begin(), bytes.end(), &check, Json::input_format_t::cbor)) {
    return invalid_argument("is no CBOR of the expected shape");
  }
  const Json frame = Json::from_cbor(bytes.begin(), bytes.end(), true, false);
  if (!frame.is_array() || frame.size() != 2 || !frame[0].is_number_unsigned()) {
    return invalid_argument("is not a kind with its members");
  }
  return read_alternative<Message>(frame[0].get<size_t>(), frame[1]);
}

}  // namespace

std::string encode(const ToEngine& message) {
  return encode_variant(message);
}

std::string encode(const FromEngine& message) {
  return encode_variant(message);
}

Result<ToEngine> decode_to_engine(std::string_view bytes) {
  return decode_variant<ToEngine>(bytes);
}

Result<FromEngine> decode_from_engine(std::string_view bytes) {
  return decode_variant<FromEngine>(bytes);
}

}  // namespace deepinfer::process
