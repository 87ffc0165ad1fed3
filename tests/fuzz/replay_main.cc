// Plays files, or all files of folders, to a fuzz target without libFuzzer: a finding under a
// debugger, and in every build's tests the seeds with some mutations of each, always the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return {path};
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void play(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

// One to four small changes: other bytes, lost pieces, doubled pieces, pieces of another seed.
class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string mutate(std::string bytes) {
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      change(bytes);
    }
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : rng_() % limit; }
  std::string piece_of(const std::string& bytes) {
    const size_t begin = below(bytes.size());
    return bytes.substr(begin, 1 + below(std::min<size_t>(64, bytes.size() - begin)));
  }
  void change(std::string& bytes) {
    const size_t at = below(bytes.size());
    switch (below(4)) {
      case 0:
        if (!bytes.empty()) {
          bytes[at] = static_cast<char>(below(256));
        }
        break;
      case 1:
        bytes.erase(at, 1 + below(16));
        break;
      case 2:
        bytes.insert(at, piece_of(bytes));
        break;
      default:
        bytes.insert(at, piece_of(seeds_[below(seeds_.size())]));
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937 rng_;  // NOLINT(cert-msc51-cpp): the same changes every time
};

}  // namespace

// usage: TARGET_fuzz [--mutations PER_SEED] FILE|FOLDER…
int main(int argc, char** argv) {
  int first = 1;
  size_t mutations = 0;
  if (argc > 2 && std::strcmp(argv[1], "--mutations") == 0) {
    mutations = std::strtoul(argv[2], nullptr, 10);
    first = 3;
  }
  std::vector<std::string> seeds;
  for (int i = first; i < argc; ++i) {
    for (const auto& path : files_of(argv[i])) {
      std::ifstream file(path, std::ios::binary);
      if (!file.is_open()) {
        std::fprintf(stderr, "%s: cannot be opened\n", path.c_str());
        return 1;
      }
      std::fprintf(stderr, "%s\n", path.c_str());
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      play(seeds.back());
    }
  }
  Mutator mutator(seeds);
  for (const std::string& seed : seeds) {
    for (size_t i = 0; i < mutations; ++i) {
      play(mutator.mutate(seed));
    }
  }
  std::fprintf(stderr, "%zu inputs, %zu mutations of each\n", seeds.size(), mutations);
  return seeds.empty() ? 1 : 0;
}
