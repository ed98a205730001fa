// What the model needs to know of an instruction, whatever set it comes from.
#pragma once

#include <array>
#include <cstdint>

namespace dpubench::cores {

/// Which unit executes it. A closed set: unit tables and latencies of a model are indexed by it.
enum class Kind : std::uint8_t {
  kInteger,      ///< add, logic, shift, compare, select, move
  kMultiply,     ///< integer, with or without accumulation
  kDivide,       ///<
  kLoad,         ///< of integer or vector registers; with address write-back too
  kStore,        ///<
  kAtomic,       ///< reads and writes memory in one (LSE, exclusive pairs)
  kBranch,       ///<
  kFloat,        ///< scalar floating point: add, multiply, compare, convert
  kFloatDivide,  ///< and square root
  kSimd,         ///< vector integer and floating point, moves between register files
  kSimdMultiply,
  kAes,          ///< rounds of AES, polynomial multiplication
  kSha,          ///< rounds of hashes (SHA-1, SHA-2, SM3) and of SM4
  kShaSchedule,  ///< their message and key schedules
  kCrc,          ///< CRC32 of an integer register
  kSystem,       ///< barriers, system registers, supervisor calls, cache maintenance
  kNop,          ///< and hints, prefetches: take a slot of the front end alone
  kUnknown,      ///< counted, and executed as an integer instruction without operands
};
inline constexpr std::size_t kKinds = 18;

enum class Branch : std::uint8_t { kNone, kConditional, kDirect, kCall, kReturn, kIndirect, kIndirectCall };

/// Registers are 0-30 integer, 31 stack pointer, 32-63 vector, 64 flags. The zero register is none.
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
  /// Loads with write-back: the entries of `written` from here on are the address, which is there as soon as an addition is;
  /// others come from memory. `writes` where there is none.
  std::uint8_t first_address = 0;
  /// Stores and atomics: entries of `read` that the address is made of; those from here on are data, which the address does not
  /// wait for. `reads` where there is none.
  std::uint8_t first_data = 0;
  std::int64_t target = 0;  ///< direct branches: bytes from this instruction
};

}  // namespace dpubench::cores
