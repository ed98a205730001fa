// The static half of a trace: its head, and the blocks that its stream names.
#pragma once

#include <filesystem>
#include <vector>

#include "cores/trace/reader.hpp"

namespace dpubench::cores {

struct BlockTable {
  TraceHead head;
  std::vector<Block> blocks;  ///< by number
};

/// @throws Error naming the file when there is none, or it is no trace, of another version or architecture, cut off or damaged
BlockTable read_block_table(const std::filesystem::path& path);

/// Refuses a magic or a version that this program does not read; the texts are the same for both files of a trace.
[[nodiscard]] std::string magic_fault(std::span<const std::byte> magic, std::uint64_t version);

}  // namespace dpubench::cores
