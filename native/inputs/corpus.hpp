// Corpora: the files, in name order, from which messages for compression and scanning are cut.
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
  /// `count` messages of exactly `size` bytes, from places that are spread evenly over all bytes, as are those of any of them in
  /// a row; where they lie is drawn. Fewer messages are the first of more. A file shorter than `size` is repeated.
  [[nodiscard]] std::vector<std::vector<std::byte>> messages(std::size_t count, std::size_t size, Random& random) const;
};

/// Files, and directories (all regular files below, hidden ones left out). @throws Error (unreadable, empty, none)
Corpus read_corpus(const std::vector<std::filesystem::path>& paths);

}  // namespace dpubench::inputs
