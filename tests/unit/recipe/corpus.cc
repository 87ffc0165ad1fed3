#include "corpus.h"

#include <gtest/gtest.h>

#include <fstream>

namespace deepinfer::recipe::test {

std::vector<CaseJson> read_cases(const std::string& kind) {
  std::ifstream file("tests/data/recipe/" + kind + ".jsonl");
  std::vector<CaseJson> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(CaseJson::parse(line));
  EXPECT_FALSE(cases.empty()) << "no cases of kind " << kind;
  return cases;
}

const Tokenizer& v41_tokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    auto loaded = Tokenizer::load(kTokenizerDir);
    if (!loaded) throw std::runtime_error(loaded.error().message());
    return std::move(*loaded);
  }();
  return *tokenizer;
}

}  // namespace deepinfer::recipe::test
