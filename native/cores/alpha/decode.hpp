// Decodes Alpha instruction words for the model. The table is our own. It follows the encodings of the Alpha Architecture
// Handbook, version 4 (Compaq, 1998), chapter 4 and appendix C: the integer set with BWX, FIX, CIX and MVI, and IEEE and VAX
// floating point.
#pragma once

#include <cstdint>

#include "cores/instruction.hpp"

namespace dpubench::cores::alpha {

/// Decode an instruction word. `kind` is kUnknown if the word is no instruction that a program may use. Registers: R0 to R30 are
/// 0 to 30, F0 to F30 are 32 to 62; R31 and F31 are zero registers and have no number.
///
/// Some kinds are a choice. An instruction without an effect (UNOP, prefetches, operations whose result goes to R31) is a no-op.
/// A conditional move is one instruction, although a 21264 executes it as two. CALL_PAL is a system instruction. Moves between
/// the register files are vector instructions.
Instruction decode(std::uint32_t word);

}  // namespace dpubench::cores::alpha
