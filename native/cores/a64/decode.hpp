// A64: from an instruction word to what the model needs of it. Own tables, by the encodings of the Arm Architecture Reference
// Manual for A-profile (DDI 0487), chapter C4: integer, LSE, floating point, NEON, the crypto and CRC extensions, and what of
// later extensions compilers and libraries use (pointer authentication, memory tagging). Not SVE, SME, LS64 and MOPS, which are
// unknown.
#pragma once

#include <cstdint>

#include "cores/instruction.hpp"

namespace dpubench::cores::a64 {

/// Of words that no instruction has, `kind` is kUnknown; some reserved values within a class of instructions are read as their
/// neighbours.
///
/// Where kinds leave a choice: load-exclusive is a load and store-exclusive an atomic (it reads its line before it writes); what
/// orders memory (LDAR, STLR) is a load or a store like others; DC ZVA is a store. PACIASP and its like are hints, and so no-ops.
Instruction decode(std::uint32_t word);

}  // namespace dpubench::cores::a64
