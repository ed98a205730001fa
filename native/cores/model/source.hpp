// Where the model takes its instructions from: a trace, or what a test made up.
#pragma once

#include <cstdint>
#include <span>

#include "cores/instruction.hpp"
#include "cores/trace/reader.hpp"

namespace dpubench::cores {

/// An instruction that was executed, on the path that was taken.
struct Executed {
  const Instruction* what = nullptr;  ///< of the source; stays as long as that
  const Access* accesses = nullptr;   ///< in the order in which they were made; valid as long as the span it stands in
  std::uint64_t pc = 0;
  std::uint64_t next_pc = 0;  ///< of the instruction executed after it; that behind it at the end
  std::uint32_t number_of_accesses = 0;
  std::uint16_t messages = 0;  ///< that begin with it
  /// A branch that went to its target, also where that is the next instruction.
  [[nodiscard]] bool taken() const { return next_pc != pc + kInstructionBytes; }

  static constexpr std::uint64_t kInstructionBytes = 4;
};

/// The instructions that one context executes, in program order.
class InstructionSource {
 public:
  virtual ~InstructionSource() = default;
  /// The next instructions; none at the end, and ever after. Valid until the next call. @throws Error of whatever it reads
  virtual std::span<const Executed> next() = 0;
  /// Begins again at the first one. @throws Error
  virtual void rewind() = 0;
};

}  // namespace dpubench::cores
