#include "server/server_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace deepinfer::server {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

ServerOptions parsed(const std::vector<std::string>& arguments,
                     const Environment& environment = {}) {
  auto result = parse_options(arguments, environment);
  const auto* exit = std::get_if<EarlyExit>(&result);
  EXPECT_EQ(exit, nullptr) << exit->standard_error;
  return exit == nullptr ? std::get<ServerOptions>(std::move(result)) : ServerOptions{};
}

EarlyExit refused(const std::vector<std::string>& arguments, const Environment& environment = {}) {
  auto result = parse_options(arguments, environment);
  EXPECT_TRUE(std::holds_alternative<EarlyExit>(result));
  return std::holds_alternative<EarlyExit>(result) ? std::get<EarlyExit>(result) : EarlyExit{};
}

std::string origin_of(const ServerOptions& options, const std::string& name) {
  const auto found = std::find_if(options.settings.begin(), options.settings.end(),
                                  [&name](const Setting& setting) { return setting.name == name; });
  return found == options.settings.end() ? "" : found->origin;
}

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("di-options-" + std::to_string(::getpid()) + ".toml")) {
    std::ofstream(path_) << text;
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ServerOptions, TakesWhatTheCatalogueRenders) {
  const ServerOptions options = parsed({"/models/x",
                                        "--host",
                                        "0.0.0.0",
                                        "--port",
                                        "40001",
                                        "--served-model-name",
                                        "flash",
                                        "--expert-parallel-size",
                                        "0",
                                        "--data-parallel-size",
                                        "1",
                                        "--trust-remote-code",
                                        "--max-model-len=32768",
                                        "--max-num-seqs=16",
                                        "--max-num-batched-tokens=32768",
                                        "--startup-timeout=3600",
                                        "--gpu-memory-utilization",
                                        "0.9",
                                        "--request-timeout",
                                        "60"});
  EXPECT_EQ(options.config.engine.model_dir, "/models/x");
  EXPECT_EQ(options.config.http.port, 40001);
  EXPECT_EQ(options.config.http.served_model_names, std::vector<std::string>{"flash"});
  EXPECT_EQ(options.config.engine.parallel.expert, 1);
  EXPECT_EQ(options.config.engine.scheduler.max_num_batched_tokens, 32768);
  EXPECT_EQ(options.config.http.request_timeout, std::chrono::seconds(60));
}

TEST(FieldCase, F07_TheLastFlagWinsOverEarlierOnesAndTheEnvironment) {
  const Environment environment = {{"DEEPINFER_ARG_PORT", "1"}, {"PORT", "2"}};
  EXPECT_EQ(parsed({"m", "--port", "3", "--port=4"}, environment).config.http.port, 4);
  EXPECT_EQ(parsed({"m"}, environment).config.http.port, 1);
  EXPECT_EQ(parsed({"m"}, {{"PORT", "2"}}).config.http.port, 8000);
}

TEST(ServerOptions, SpellingsAndSizes) {
  const ServerOptions options =
      parsed({"--model", "m/", "--max_model_len", "32k", "--kv_cache_memory_bytes=2G",
              "--max-request-bytes", "1M", "--sse-keep-alive-interval", "0.5"});
  EXPECT_EQ(options.config.engine.max_model_len, 32768);
  EXPECT_EQ(options.config.engine.kv_cache_memory_bytes, int64_t{2} << 30);
  EXPECT_EQ(options.config.http.max_request_bytes, 1 << 20);
  EXPECT_EQ(options.config.http.sse_keep_alive_interval, std::chrono::milliseconds(500));
}

TEST(FieldCase, R07_TheNameOfTheReasoningIsAFlag) {
  using Names = std::vector<std::string>;
  const auto names = [](const std::string& value) {
    return parsed({"m", "--reasoning-field", value}).reasoning_fields;
  };
  EXPECT_EQ(parsed({"m"}).reasoning_fields, Names{"reasoning_content"});
  EXPECT_EQ(names("reasoning_content"), Names{"reasoning_content"});
  EXPECT_EQ(names("reasoning"), Names{"reasoning"});
  EXPECT_EQ(names("both"), (Names{"reasoning_content", "reasoning"}));
  const auto refused = parse_options({"m", "--reasoning-field", "thoughts"}, {});
  ASSERT_TRUE(std::holds_alternative<EarlyExit>(refused));
  EXPECT_EQ(std::get<EarlyExit>(refused).code, 2);
}

TEST(ServerOptions, CommandLineBeatsFileBeatsEnvironment) {
  const ConfigFile file("max-num-seqs = 20\nblock_size = 32\n[Server]\nport = 7\n");
  const ServerOptions options =
      parsed({"m", "--config", file.path(), "--block-size", "16"},
             {{"DEEPINFER_ARG_MAX_NUM_SEQS", "30"}, {"DEEPINFER_ARG_SEED", "40"}});
  EXPECT_EQ(options.config.engine.block_size, 16);
  EXPECT_EQ(options.config.engine.scheduler.max_num_seqs, 20);
  EXPECT_EQ(options.config.engine.seed, 40U);
  EXPECT_EQ(options.config.http.port, 7);
  EXPECT_EQ(origin_of(options, "block-size"), "command line");
  EXPECT_EQ(origin_of(options, "max-num-seqs"), "file");
  EXPECT_EQ(origin_of(options, "seed"), "environment");
  EXPECT_EQ(origin_of(options, "host"), "default");
}

TEST(ServerOptions, AnUnknownKeyInTheFileIsAnError) {
  const ConfigFile file("max-num-sequences = 20\n");
  const EarlyExit exit = refused({"m", "--config", file.path()});
  EXPECT_EQ(exit.code, 2);
  EXPECT_NE(exit.standard_error.find("max-num-sequences"), std::string::npos);
  EXPECT_EQ(refused({"m", "--config", "/no/such/file"}).code, 2);
  EXPECT_EQ(refused({"m", "--config", "/"}).code, 2);
}

TEST(ServerOptions, ErrorsNameTheFlagFirst) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"m", "--max-num-seqs", "0"}, "--max-num-seqs: 0 is not in 1..4096"},
      {{"m", "--port", "abc"}, "--port: 'abc' is not a whole number"},
      {{"m", "--port", "99999999999"}, "--port: '99999999999' is too large"},
      {{"m", "--shutdown-timeout", "-1"}, "--shutdown-timeout: "},
      {{"m", "--tensor-parallel-size", "2"}, "--tensor-parallel-size: there is no tensor"},
      {{"m", "--dtype", "float16"}, "--dtype: "},
      {{"m", "--served-model-name", ""}, "--served-model-name: "},
      {{"m", "--hang-timeout", "0"}, "--hang-timeout: "},
      {{"m", "--expert-parallel-size", "8"}, "--expert-parallel-size: 8 ranks"},
      {{"m", "--expert-parallel-size", "4", "--data-parallel-size", "3"},
       "--expert-parallel-size: 4 must equal"},
      {{"m", "--model-path", "x"}, "--model-path: unknown option; did you mean MODEL_DIR"},
      {{"m", "--max-num-seq", "x"}, "--max-num-seq: unknown option; did you mean --max-num-seqs?"},
      {{"m", "--enforce-eager"}, "--enforce-eager: unknown option; "},
      {{"m", "other"}, "unexpected argument 'other'"},
      {{}, "MODEL_DIR: missing"},
  };
  for (const auto& [arguments, expected] : cases) {
    const EarlyExit exit = refused(arguments);
    EXPECT_EQ(exit.code, 2);
    EXPECT_EQ(exit.standard_error.compare(0, expected.size(), expected), 0)
        << exit.standard_error << " instead of " << expected;
    EXPECT_EQ(exit.standard_error.find('\n'), std::string::npos);
  }
}

TEST(ServerOptions, AnEmptyKeyNeverMeansNoKey) {
  for (const char* variable : {"DEEPINFER_ARG_API_KEY", "DEEPINFER_ARG_API_KEY_FILE"}) {
    EXPECT_EQ(refused({"m"}, {{variable, ""}}).code, 2) << variable;
  }
  for (const char* line : {"api-key = \"\"\n", "api-key = [\"a\", \"\"]\n"}) {
    const ConfigFile file(line);
    EXPECT_EQ(refused({"m", "--config", file.path()}).code, 2) << line;
  }
}

TEST(FieldCase, T21_RendererAndParserCannotBeChosenApart) {
  for (const char* flag : {"--tool-call-parser", "--reasoning-parser", "--chat-template"}) {
    const EarlyExit exit = refused({"m", flag, "deepseek_v3"});
    EXPECT_EQ(exit.code, 2) << flag;
    EXPECT_EQ(exit.standard_error.compare(0, std::string(flag).size(), flag), 0)
        << exit.standard_error;
  }
}

TEST(FieldCase, V15_TheDefaultLimitIsASettingWithARange) {
  EXPECT_EQ(parsed({"m"}).config.http.default_max_tokens, 0);
  EXPECT_EQ(parsed({"m", "--default-max-tokens", "4k"}).config.http.default_max_tokens, 4096);
  EXPECT_EQ(refused({"m", "--default-max-tokens", "-1"}).code, 2);
}

TEST(ServerOptions, OtherServersFlagsThatMeanNothingHerePass) {
  parsed({"m", "--tensor-parallel-size", "1", "--pipeline-parallel-size=1", "--dtype", "auto",
          "--enable-expert-parallel", "--enable-auto-tool-choice", "--enable-chunked-prefill",
          "--kv-cache-dtype", "auto", "--load-format", "auto"});
}

TEST(ServerOptions, UnknownVariablesOfOursAreWarnedAbout) {
  const ServerOptions options = parsed(
      {"m"},
      {{"DEEPINFER_ARG_MAX_NUM_SEQ", "1"}, {"DEEPINFER_JIT_CACHE_DIR", "/x"}, {"VLLM_PORT", "1"}});
  ASSERT_EQ(options.warnings.size(), 1U);
  EXPECT_NE(options.warnings[0].find("DEEPINFER_ARG_MAX_NUM_SEQ"), std::string::npos);
}

TEST(ServerOptions, KeysComeFromFlagsAndFileAndAreNeverShown) {
  const ConfigFile keys("secret-one\n\n\t secret-two \r\n");
  const ServerOptions options =
      parsed({"m", "--api-key", "secret-three", "--api-key-file", keys.path()});
  EXPECT_EQ(options.config.http.api_keys,
            (std::vector<std::string>{"secret-three", "secret-one", "secret-two"}));
  EXPECT_EQ(config_text(options.settings).find("secret-"), std::string::npos);
}

TEST(ServerOptions, ShowsPathsThatAreNoText) {
  EXPECT_NE(config_text(parsed({"/a/\xFF"}).settings).find("\uFFFD"), std::string::npos);
}

TEST(ServerOptions, TheNameOfTheDirectoryIsTheModelsName) {
  EXPECT_EQ(parsed({"/a/flash/"}).config.http.served_model_names.front(), "flash");
}

TEST(ServerOptions, OriginsMayBeAJsonList) {
  EXPECT_EQ(parsed({"m", "--allowed-origins", R"(["https://a","https://b"])"})
                .config.http.allowed_origins,
            (std::vector<std::string>{"https://a", "https://b"}));
}

TEST(ServerOptions, PrintedConfigurationCanBeReadBack) {
  const ServerOptions options = parsed({"m", "--max-num-seqs", "9", "--host", "::1"});
  const ConfigFile file(config_text(options.settings));
  const ServerOptions again = parsed({"--config", file.path()});
  EXPECT_EQ(again.config.engine.scheduler.max_num_seqs, 9);
  EXPECT_EQ(again.config.http.host, "::1");
  EXPECT_EQ(again.config.engine.model_dir, "m");
}

TEST(ServerOptions, HelpIsShortAndHelpAllIsComplete) {
  const EarlyExit help = refused({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_LE(std::count(help.standard_output.begin(), help.standard_output.end(), '\n'), 24);
  const std::string all = refused({"--help=all"}).standard_output;
  for (const char* flag : {"--max-num-seqs", "--uds", "--trust-remote-code", "--check-health",
                           "DEEPINFER_ARG_MAX_NUM_SEQS", "[256]"}) {
    EXPECT_NE(all.find(flag), std::string::npos) << flag;
  }
  EXPECT_NE(refused({"--help=scheduler"}).standard_output.find("--max-num-seqs"),
            std::string::npos);
  EXPECT_EQ(refused({"--help=nothing"}).code, 2);
  EXPECT_EQ(refused({"--version"}).standard_output.compare(0, 17, "deepinfer-server "), 0);
}

}  // namespace
}  // namespace deepinfer::server
