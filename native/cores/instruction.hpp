// The model's view of an instruction, independent of the instruction set.
#pragma once

#include <array>
#include <cstdint>

namespace dpubench::cores {

/// The unit that executes an instruction. The set is closed: a model's unit tables and latencies use it as index.
enum class Kind : std::uint8_t {
  kInteger,      ///< add, logic, shift, compare, select, move
  kMultiply,     ///< integer, with or without accumulation
  kDivide,       ///< integer division
  kLoad,         ///< of integer or vector registers, also with address write-back
  kStore,        ///< of integer or vector registers
  kAtomic,       ///< reads and writes memory in one operation (LSE, exclusive pairs)
  kBranch,       ///< every kind of Branch
  kFloat,        ///< scalar floating point: add, multiply, compare, convert
  kFloatDivide,  ///< division and square root
  kSimd,         ///< vector integer and floating point, moves between register files
  kSimdMultiply,
  kAes,          ///< rounds of AES, polynomial multiplication
  kSha,          ///< rounds of hashes (SHA-1, SHA-2, SM3) and of SM4
  kShaSchedule,  ///< message and key schedules of these hashes and ciphers
  kCrc,          ///< CRC32 of an integer register
  kSystem,       ///< barriers, system registers, supervisor calls, cache maintenance
  kNop,          ///< nop, hints, prefetches: they take only a slot of the front end
  kUnknown,      ///< counted and executed as an integer instruction without operands
};
inline constexpr std::size_t kKinds = 18;

enum class Branch : std::uint8_t { kNone, kConditional, kDirect, kCall, kReturn, kIndirect, kIndirectCall };

/// Register numbers: 0-30 integer, 31 stack pointer, 32-63 vector, 64 flags. The zero register has no number.
inline constexpr std::uint8_t kRegisters = 65;
inline constexpr std::uint8_t kFlags = 64;
inline constexpr std::uint8_t kNoRegister = 0xff;

struct Instruction {
  Kind kind = Kind::kUnknown;
  Branch branch = Branch::kNone;
  std::uint8_t reads = 0;   ///< entries of `read`
  std::uint8_t writes = 0;  ///< entries of `written`
  std::array<std::uint8_t, 6> read{};
  std::array<std::uint8_t, 5> written{};
  /// Loads with write-back: entries of `written` from this index on are the address. It is ready after an addition. The other
  /// entries come from memory. Equal to `writes` if there is no write-back.
  std::uint8_t first_address = 0;
  /// Stores and atomics: entries of `read` before this index form the address. Entries from this index on are data, and the
  /// address does not wait for them. Equal to `reads` if there are no data.
  std::uint8_t first_data = 0;
  std::int64_t target = 0;  ///< direct branches: bytes from this instruction
};

}  // namespace dpubench::cores
