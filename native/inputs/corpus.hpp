// Reads corpora: files in the order of their names. Messages for compression and scanning are cut from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "inputs/random.hpp"

namespace dpubench::inputs {

struct CorpusFile {
  std::string name;
  std::vector<std::byte> bytes;
};

struct Corpus {
  std::vector<CorpusFile> files;
  [[nodiscard]] std::uint64_t total_bytes() const;
  /// Return `count` messages of exactly `size` bytes. Their places are drawn and spread evenly over all bytes, also for any part
  /// of the messages in a row. A smaller `count` gives the first messages of a larger one. A file shorter than `size` repeats.
  [[nodiscard]] std::vector<std::vector<std::byte>> messages(std::size_t count, std::size_t size, Random& random) const;
};

/// Read files, and directories with all regular files below them except hidden ones. @throws Error (unreadable, empty, none)
Corpus read_corpus(const std::vector<std::filesystem::path>& paths);

}  // namespace dpubench::inputs
