// Reads a trace as it is needed: one block with its accesses at a time, never the whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cores/trace/format.h"

namespace dpubench::cores {

/// One access to memory. What an instruction accesses in one piece is one access however the emulator split it (a pair of
/// registers, four vectors); a piece whose length is no power of two is several. An atomic instruction is a load and a store, and
/// so is a store exclusive. What DC ZVA clears is not reported by the emulator and not in a trace.
struct Access {
  std::uint64_t address = 0;
  std::uint16_t index = 0;  ///< of the instruction in its block
  std::uint8_t size_log2 = 0;
  bool is_store = false;
};

/// A run of instructions with one way in.
struct Block {
  std::uint32_t number = 0;
  std::uint64_t pc = 0;              ///< of the first instruction
  std::vector<std::uint32_t> words;  ///< as the processor reads them
};

struct TraceHead {
  std::string architecture;  ///< "aarch64"
  std::string kernel;        ///< what was traced: operator, engine, parameters, one line
  std::string cpu;           ///< CPU model of the emulator
  std::string program_digest;
};

/// What comes next in a trace.
struct Step {
  enum class What : std::uint8_t { kBlock, kOpen, kClose, kMessage, kEnd };
  What what = What::kEnd;
  const Block* block = nullptr;      ///< of the reader; stays where it is
  std::span<const Access> accesses;  ///< valid until the next call
};

class TraceReader {
 public:
  /// @throws Error naming the file when there is none, or it is no trace, of another version or architecture, or broken
  explicit TraceReader(const std::filesystem::path& folder);
  TraceReader(TraceReader&&) noexcept;
  TraceReader& operator=(TraceReader&&) noexcept;
  ~TraceReader();

  [[nodiscard]] const TraceHead& head() const;
  /// Blocks by number.
  [[nodiscard]] std::span<const Block> blocks() const;
  /// The next step; kEnd again and again behind the end. @throws Error on a stream that is cut off, an access outside its block,
  /// a block that the table does not have, or a region opened twice or never closed
  const Step& next();
  /// Goes back to the beginning. @throws Error
  void rewind();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dpubench::cores
