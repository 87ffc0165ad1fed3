#include "model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/model/tiny_files.h"

namespace deepinfer::model {
namespace {

using testing::HasSubstr;

Result<TensorMap> parse(const std::string& bytes) {
  return parse_safetensors(std::as_bytes(std::span(bytes.data(), bytes.size())), "shard");
}

std::string error_of(const std::string& bytes) {
  const auto result = parse(bytes);
  if (result.has_value()) {
    return "no error";
  }
  EXPECT_EQ(result.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(result.error().message(), testing::StartsWith("shard"));
  return result.error().message();
}

/// The error of a file with one tensor described by `entry` and eight bytes of data.
std::string entry_error(const std::string& entry) {
  return error_of(raw_safetensors("{\"t\":" + entry + "}", "01234567"));
}

TEST(Safetensors, ReadsTensorsInTheirPlaces) {
  const std::string bytes = safetensors_bytes(
      {{"a", "F32", {2, 1}, "abcdefgh"}, {"b", "U8", {3}, "xyz"}, {"empty", "F32", {0, 5}, ""}});
  const auto tensors = parse(bytes);
  ASSERT_TRUE(tensors.has_value()) << tensors.error().message();
  ASSERT_EQ(tensors->size(), 3U);
  const StoredTensor& b = tensors->at("b");
  EXPECT_EQ(b.dtype, "U8");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(b.data.data()), b.data.size()), "xyz");
  EXPECT_EQ(tensors->at("a").data.size(), 8U);
  EXPECT_TRUE(tensors->at("empty").data.empty());
}

TEST(Safetensors, D03_AllowsPaddingGapsMetadataAndUnknownTypes) {
  EXPECT_TRUE(
      parse(safetensors_bytes({{"a", "BF16", {2}, ""}, {"b", "U8", {1}, ""}}, 7)).has_value());
  EXPECT_TRUE(
      parse(raw_safetensors("{\"__metadata__\":{\"x\":\"y\"}}      ", "trailing")).has_value());
  const auto odd = parse(
      raw_safetensors(R"({"t":{"dtype":"F4_NEW","shape":[3,3],"data_offsets":[0,5]}})", "12345"));
  ASSERT_TRUE(odd.has_value()) << odd.error().message();
  EXPECT_EQ(odd->at("t").dtype, "F4_NEW");
}

TEST(Safetensors, AcceptsScalarsAndEmptyFiles) {
  EXPECT_TRUE(parse(raw_safetensors("{}", "")).has_value());
  EXPECT_TRUE(
      parse(raw_safetensors(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", "1234"))
          .has_value());
}

TEST(Safetensors, RefusesTruncatedFiles) {
  const std::string whole = safetensors_bytes({{"a", "F32", {4}, ""}});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "no error") << size;
  }
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(""), HasSubstr("expected at least 8 bytes, found 0"));
}

TEST(Safetensors, RefusesHeaderLengthsBeyondTheFile) {
  const auto with_length = [](uint64_t length) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
      bytes.push_back(static_cast<char>(length >> (8 * i) & 0xFF));
    }
    return bytes + "{}";
  };
  EXPECT_EQ(error_of(with_length(2)), "no error");
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    EXPECT_THAT(error_of(with_length(length)), HasSubstr("the header claims")) << length;
  }
}

TEST(Safetensors, RefusesHeadersThatAreNotJsonObjects) {
  for (const std::string header : {"", "{", "[]", "5", "null", "{\"t\":}", "\xff\xff", "{}{}"}) {
    EXPECT_NE(error_of(raw_safetensors(header, "")), "no error") << header;
  }
}

TEST(Safetensors, RefusesARepeatedName) {
  const std::string entry = R"("t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_THAT(error_of(raw_safetensors("{" + entry + "," + entry + "}", "01234567")),
              HasSubstr("header: \"t\" is named twice"));
  EXPECT_THAT(entry_error(R"({"dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4]})"),
              HasSubstr("\"shape\" is named twice"));
}

TEST(Safetensors, MessagesDoNotRepeatBytesThatAreNotText) {
  for (const std::string header : {"{\"t\":\xff}", "{\"\xc3\":1}", "\x01"}) {
    for (const char byte : error_of(raw_safetensors(header, ""))) {
      EXPECT_TRUE(byte >= ' ' && byte <= '~') << header;
    }
  }
}

TEST(Safetensors, SurvivesDeeplyNestedHeaders) {
  const std::string deep = std::string(300000, '[') + std::string(300000, ']');
  EXPECT_NE(error_of(raw_safetensors(deep, "")), "no error");
  EXPECT_NE(error_of(raw_safetensors("{\"t\":" + deep + "}", "")), "no error");
  EXPECT_NE(entry_error("{\"dtype\":\"U8\",\"shape\":" + deep + ",\"data_offsets\":[0,8]}"),
            "no error");
}

TEST(Safetensors, RefusesIncompleteEntries) {
  EXPECT_THAT(entry_error("5"), HasSubstr("tensor t: expected dtype, shape and data_offsets"));
  EXPECT_NE(entry_error(R"({"shape":[8],"data_offsets":[0,8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":8,"shape":[8],"data_offsets":[0,8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","data_offsets":[0,8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":8,"data_offsets":[0,8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":[8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":[8],"data_offsets":[0]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":[8],"data_offsets":[0,4,8]})"), "no error");
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":[8],"data_offsets":"08"})"), "no error");
}

TEST(Safetensors, RefusesNegativeFractionalAndOverflowingNumbers) {
  for (const char* shape :
       {"[-8]", "[8.0]", "[\"8\"]", "[true]", "[18446744073709551615]", "[1e30]",
        "[4294967296,4294967296]", "[9223372036854775807,2]", "[1,1,1,1,1,1,1,1,8]"}) {
    EXPECT_NE(
        entry_error(std::string(R"({"dtype":"U8","shape":)") + shape + R"(,"data_offsets":[0,8]})"),
        "no error")
        << shape;
  }
  for (const char* offsets : {"[-1,8]", "[0,-8]", "[8,0]", "[0.0,8]", "[0,18446744073709551615]",
                              "[18446744073709551608,8]"}) {
    EXPECT_NE(
        entry_error(std::string(R"({"dtype":"U8","shape":[8],"data_offsets":)") + offsets + "}"),
        "no error")
        << offsets;
  }
}

TEST(Safetensors, RefusesDataOutsideTheFile) {
  EXPECT_THAT(entry_error(R"({"dtype":"U8","shape":[9],"data_offsets":[0,9]})"),
              HasSubstr("ends at byte 9 of 8"));
  EXPECT_NE(entry_error(R"({"dtype":"NEW","shape":[9],"data_offsets":[100,200]})"), "no error");
}

TEST(Safetensors, RefusesSizesThatDoNotMatchTheShape) {
  EXPECT_THAT(entry_error(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("F32 [3] does not fit its 8 bytes"));
  EXPECT_NE(entry_error(R"({"dtype":"U8","shape":[0],"data_offsets":[0,8]})"), "no error");
}

TEST(Safetensors, RefusesOverlappingTensors) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},)"
                             R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})";
  EXPECT_THAT(error_of(raw_safetensors(header, "01234567")), HasSubstr("overlap"));
}

TEST(Safetensors, D02_RecognisesGitLfsPointer) {
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n"),
              HasSubstr("Git LFS pointer"));
}

TEST(Safetensors, OpenNamesTheFile) {
  const TempDir dir;
  EXPECT_THAT(SafetensorsFile::open(dir.path() + "/gone.safetensors").error().message(),
              HasSubstr("gone.safetensors: cannot be opened: No such file"));
  EXPECT_THAT(SafetensorsFile::open(dir.path()).error().message(), HasSubstr("a regular file"));
  dir.write("empty.safetensors", "");
  EXPECT_THAT(SafetensorsFile::open(dir.path() + "/empty.safetensors").error().message(),
              HasSubstr("expected at least 8 bytes"));
  dir.write("good.safetensors", safetensors_bytes({{"a", "U8", {3}, "abc"}}));
  const auto file = SafetensorsFile::open(dir.path() + "/good.safetensors");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ((*file)->tensors().at("a").data[2], std::byte{'c'});
}

/// Every accepted mutant must only lend bytes of the file.
TEST(Safetensors, MutatedFilesNeverLendForeignBytes) {
  const std::string seed = safetensors_bytes(
      {{"layers.0.w", "F32", {2, 3}, ""}, {"b", "BF16", {4}, ""}, {"c", "I8", {2, 2}, ""}}, 3);
  std::mt19937 random(20261130);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seed;
    const auto changes = 1 + random() % 4;
    for (uint32_t i = 0; i < changes; ++i) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = "0123456789{}[],:\"-"[random() % 18];
          break;
        case 2:
          bytes.erase(at, 1 + random() % 3);
          break;
        default:
          bytes.insert(at, 1, "0123456789[]{}-e."[random() % 17]);
          break;
      }
    }
    const auto tensors = parse(bytes);
    if (!tensors.has_value()) {
      continue;
    }
    ++accepted;
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    for (const auto& [name, tensor] : *tensors) {
      ASSERT_GE(tensor.data.data(), begin);
      ASSERT_LE(tensor.data.data() + tensor.data.size(), begin + bytes.size());
    }
  }
  EXPECT_GT(accepted, 100);  // the mutations are not all trivially wrong
}

}  // namespace
}  // namespace deepinfer::model
