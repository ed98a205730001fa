// Reads a trace step by step: one block with its accesses at a time, never the whole trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cores/trace/format.h"

namespace dpubench::cores {

/// One access to memory. If an instruction accesses one piece, this is one access, even if the emulator split it (a pair of
/// registers, four vectors). A piece whose length is no power of two is several accesses. An atomic instruction is a load and a
/// store, and so is a store exclusive. The emulator does not report what DC ZVA clears, so traces do not contain it.
struct Access {
  std::uint64_t address = 0;
  std::uint16_t index = 0;  ///< index of the instruction in its block
  std::uint8_t size_log2 = 0;
  bool is_store = false;
};

/// A run of instructions with a single entry.
struct Block {
  std::uint32_t number = 0;
  std::uint64_t pc = 0;              ///< address of the first instruction
  std::vector<std::uint32_t> words;  ///< words as the processor reads them
};

struct TraceHead {
  std::string architecture;  ///< "aarch64" or "alpha"
  std::string kernel;        ///< the traced kernel: operator, engine, parameters; one line
  std::string cpu;           ///< CPU model of the emulator
  std::string program_digest;
};

/// The next step of a trace.
struct Step {
  enum class What : std::uint8_t { kBlock, kOpen, kClose, kMessage, kEnd };
  What what = What::kEnd;
  const Block* block = nullptr;      ///< owned by the reader; its address does not change
  std::span<const Access> accesses;  ///< valid until the next call
};

class TraceReader {
 public:
  /// @throws Error that names the file, when it is missing, is no trace, has another version or architecture, or is broken
  explicit TraceReader(const std::filesystem::path& folder);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  [[nodiscard]] const TraceHead& head() const;
  /// Return the blocks by number.
  [[nodiscard]] std::span<const Block> blocks() const;
  /// Return the next step; kEnd at the end and in all later calls. @throws Error on a stream that is cut off, an access outside
  /// its block, a block that is not in the table, or a region that is opened twice or never closed
  const Step& next();
  /// Go back to the beginning. @throws Error
  void rewind();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dpubench::cores
