// The interface to the model's instructions. They come from a trace or from a test.
#pragma once

#include <cstdint>
#include <span>

#include "cores/instruction.hpp"
#include "cores/trace/reader.hpp"

namespace dpubench::cores {

/// An executed instruction on the path that was taken.
struct Executed {
  const Instruction* what = nullptr;  ///< owned by the source, and valid as long as the source
  const Access* accesses = nullptr;   ///< accesses in their order; valid as long as the span that holds this
  std::uint64_t pc = 0;
  std::uint64_t next_pc = 0;  ///< address of the instruction executed next; at the end, the address behind this one
  std::uint32_t number_of_accesses = 0;
  std::uint16_t messages = 0;  ///< messages that begin with it
  /// Return whether a branch went to a target other than the next instruction.
  [[nodiscard]] bool taken() const { return next_pc != pc + kInstructionBytes; }

  static constexpr std::uint64_t kInstructionBytes = 4;
};

/// A source of the instructions that one context executes, in program order.
class InstructionSource {
 public:
  virtual ~InstructionSource() = default;
  /// Return the next instructions; none at the end and from then on. Valid until the next call. @throws Error from its input
  virtual std::span<const Executed> next() = 0;
  /// Begin again at the first instruction. @throws Error
  virtual void rewind() = 0;
};

}  // namespace dpubench::cores
