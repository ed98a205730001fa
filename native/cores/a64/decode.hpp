// Decodes A64 instruction words for the model. The tables are our own. They follow the encodings of the Arm Architecture
// Reference Manual for A-profile (DDI 0487), chapter C4: integer, LSE, floating point, NEON, the crypto and CRC extensions, and
// the parts of later extensions that compilers and libraries use (pointer authentication, memory tagging). SVE, SME, LS64 and
// MOPS are unknown.
#pragma once

#include <cstdint>

#include "cores/instruction.hpp"

namespace dpubench::cores::a64 {

/// Decode an instruction word. `kind` is kUnknown if the word is no instruction. Some reserved values within a class of
/// instructions decode like their neighbours.
///
/// Some kinds are a choice. Load-exclusive is a load; store-exclusive is an atomic, because it reads its line before it writes.
/// Ordered accesses (LDAR, STLR) are plain loads and stores. DC ZVA is a store. PACIASP and similar ones are hints: no-ops.
Instruction decode(std::uint32_t word);

}  // namespace dpubench::cores::a64
