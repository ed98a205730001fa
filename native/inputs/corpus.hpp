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
  /// `count` messages of exactly `size` bytes: files in proportion to their length, start positions drawn; a file shorter than
  /// `size` is repeated.
  [[nodiscard]] std::vector<std::vector<std::byte>> messages(std::size_t count, std::size_t size, Random& random) const;
};

/// Files, and directories (all regular files below, hidden ones left out). @throws Error (unreadable, empty, none)
Corpus read_corpus(const std::vector<std::filesystem::path>& paths);

}  // namespace dpubench::inputs
