// Reads the static half of a trace: its head, and the blocks that its stream names.
#pragma once

#include <filesystem>
#include <vector>

#include "cores/trace/reader.hpp"

namespace dpubench::cores {

struct BlockTable {
  TraceHead head;
  std::vector<Block> blocks;  ///< by number
};

/// Read the table of blocks. @throws Error that names the file, when it is missing, is no trace, has another version or
/// architecture, or is cut off or damaged
BlockTable read_block_table(const std::filesystem::path& path);

/// Return the fault of a magic or a version that this program does not read, or an empty text. Both files of a trace use it.
[[nodiscard]] std::string magic_fault(std::span<const std::byte> magic, std::uint64_t version);

}  // namespace dpubench::cores
