#include "inputs/corpus.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "inputs/file.hpp"

namespace dpubench::inputs {

namespace fs = std::filesystem;

__extension__ using Wide = unsigned __int128;

std::uint64_t Corpus::total_bytes() const {
  std::uint64_t total = 0;
  for (const CorpusFile& f : files) total += f.bytes.size();
  return total;
}

std::vector<std::vector<std::byte>> Corpus::messages(std::size_t count, std::size_t size, Random& random) const {
  std::vector<std::uint64_t> ends;  // end of each file in the concatenation
  std::uint64_t total = 0;
  for (const CorpusFile& f : files) ends.push_back(total += f.bytes.size());
  if (total == 0) throw std::invalid_argument("Corpus::messages: the corpus is empty");
  // The places begin at a drawn one and continue in steps of the golden ratio of the whole (Knuth, The Art of Computer
  // Programming, volume 3, section 6.4, theorem S). Messages differ in cost by half. Two sets of 1,000 independent draws would
  // therefore differ by 2 % on average.
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15U;  // as a fraction of 2^64
  std::uint64_t place = random.next();
  std::vector<std::vector<std::byte>> messages(count);
  for (std::vector<std::byte>& message : messages) {
    place += kGoldenRatio;
    const auto position = static_cast<std::uint64_t>(static_cast<Wide>(place) * total >> 64);
    const auto chosen = std::upper_bound(ends.begin(), ends.end(), position);
    const std::vector<std::byte>& bytes = files[static_cast<std::size_t>(chosen - ends.begin())].bytes;
    const std::uint64_t offset = position - (*chosen - bytes.size());
    const std::uint64_t starts = bytes.size() >= size ? bytes.size() - size + 1 : bytes.size();
    auto at = static_cast<std::size_t>(static_cast<Wide>(offset) * starts / bytes.size());
    message.reserve(size);
    while (message.size() < size) {
      const std::size_t take = std::min(size - message.size(), bytes.size() - at);
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      message.insert(message.end(), from, from + static_cast<std::ptrdiff_t>(take));
      at = 0;
    }
  }
  return messages;
}

namespace {

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

void read_directory(const fs::path& directory, Corpus& corpus) {
  std::error_code error;
  fs::recursive_directory_iterator it(directory, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (is_hidden(it->path())) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file(ignored)) {
      std::vector<std::byte> bytes = read_file(it->path(), "corpus file");
      if (!bytes.empty()) corpus.files.push_back({it->path().lexically_relative(directory).generic_string(), std::move(bytes)});
    }
  }
  if (error)
    throw Error("corpus " + directory.string() + ": " + error.message() + "; check the permissions of the files below it");
}

}  // namespace

Corpus read_corpus(const std::vector<fs::path>& paths) {
  Corpus corpus;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      const std::size_t before = corpus.files.size();
      read_directory(path, corpus);
      if (corpus.files.size() == before) {
        throw Error("corpus " + path.string() +
                    ": this directory has no file with content (hidden files are left out); name another");
      }
    } else {
      std::vector<std::byte> bytes = read_file(path, "corpus");
      if (bytes.empty()) throw Error("corpus " + path.string() + ": is empty; name a file with content");
      corpus.files.push_back({path.filename().string(), std::move(bytes)});
    }
  }
  if (corpus.files.empty()) throw Error("corpus: no file was named; give one with --input corpus=FILE");
  std::stable_sort(corpus.files.begin(), corpus.files.end(),
                   [](const CorpusFile& a, const CorpusFile& b) { return a.name < b.name; });
  return corpus;
}

}  // namespace dpubench::inputs
