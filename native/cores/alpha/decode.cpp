#include "cores/alpha/decode.hpp"

#include <initializer_list>
#include <optional>

namespace dpubench::cores::alpha {

namespace {

constexpr std::uint32_t kZero = 31;
constexpr std::uint8_t kFirstFloat = 32;
constexpr std::int64_t kInstructionBytes = 4;

/// A register, or nothing for a zero register.
using Register = std::optional<std::uint8_t>;

Register integer(std::uint32_t number) {
  if (number == kZero) return std::nullopt;
  return static_cast<std::uint8_t>(number);
}
Register floating(std::uint32_t number) {
  if (number == kZero) return std::nullopt;
  return static_cast<std::uint8_t>(kFirstFloat + number);
}

/// The fields of a word: Alpha Architecture Handbook, 3.3.
struct Fields {
  std::uint32_t word;

  [[nodiscard]] std::uint32_t opcode() const { return word >> 26; }
  [[nodiscard]] std::uint32_t a() const { return word >> 21 & 31U; }
  [[nodiscard]] std::uint32_t b() const { return word >> 16 & 31U; }
  [[nodiscard]] std::uint32_t c() const { return word & 31U; }
  [[nodiscard]] bool has_literal() const { return (word >> 12 & 1U) != 0; }   ///< of an integer operation, in place of Rb
  [[nodiscard]] std::uint32_t function() const { return word >> 5 & 0x7fU; }  ///< of an integer operation
  [[nodiscard]] std::uint32_t float_function() const { return word >> 5 & 0x7ffU; }
  [[nodiscard]] Register operand_b() const { return has_literal() ? std::nullopt : integer(b()); }
  [[nodiscard]] std::int64_t displacement() const {  ///< of a branch, from the instruction behind it
    constexpr std::int64_t kSign = std::int64_t{1} << 20;
    const std::int64_t field = word & 0x1fffffU;
    return ((field ^ kSign) - kSign) * kInstructionBytes;
  }
};

using Registers = std::initializer_list<Register>;

Instruction make(Kind kind, Registers written, Registers read) {
  Instruction made;
  made.kind = kind;
  for (const Register& r : written) {
    if (r) made.written[made.writes++] = *r;
  }
  for (const Register& r : read) {
    if (r) made.read[made.reads++] = *r;
  }
  made.first_address = made.writes;
  made.first_data = made.reads;
  return made;
}

Instruction no_op() {
  return make(Kind::kNop, {}, {});
}

/// An operation on registers. It is a no-op if nothing takes its result.
Instruction operate(Kind kind, Register result, Registers read) {
  return result ? make(kind, {result}, read) : no_op();
}

/// A load of memory format. A load of a zero register is a prefetch or UNOP.
Instruction load(Register result, Register base) {
  return result ? make(Kind::kLoad, {result}, {base}) : no_op();
}

Instruction store(Kind kind, Registers written, Register base, Register data) {
  Instruction made = make(kind, written, {base, data});
  made.first_data = base ? 1 : 0;
  return made;
}

Instruction branch(Branch kind, const Fields& f, Registers written, Registers read) {
  Instruction made = make(Kind::kBranch, written, read);
  made.branch = kind;
  made.target = kInstructionBytes + f.displacement();
  return made;
}

/// Opcode 11: logic and conditional moves. A conditional move keeps its result where the condition fails, and reads it.
Instruction logic(const Fields& f) {
  switch (f.function()) {
    case 0x14:
    case 0x16:
    case 0x24:
    case 0x26:
    case 0x44:
    case 0x46:
    case 0x64:
    case 0x66:
      return operate(Kind::kInteger, integer(f.c()), {integer(f.a()), f.operand_b(), integer(f.c())});
    case 0x00:
    case 0x08:
    case 0x20:
    case 0x28:
    case 0x40:
    case 0x48:
    case 0x61:  // AMASK
    case 0x6c:  // IMPLVER
      return operate(Kind::kInteger, integer(f.c()), {integer(f.a()), f.operand_b()});
    default:
      return {};
  }
}

/// Opcode 14: moves from integer registers, and square roots.
Instruction from_integer(const Fields& f) {
  const std::uint32_t function = f.float_function();
  if (function == 0x004 || function == 0x014 || function == 0x024)  // ITOFS, ITOFF, ITOFT
    return operate(Kind::kSimd, floating(f.c()), {integer(f.a())});
  const std::uint32_t operation = function & 0x1fU;
  if (operation == 0x0a || operation == 0x0b) return operate(Kind::kFloatDivide, floating(f.c()), {floating(f.b())});
  return {};
}

/// Opcodes 15 and 16: floating point of VAX and IEEE. Qualifiers lie above the operation.
Instruction arithmetic(const Fields& f) {
  constexpr std::uint32_t kDivide = 3;
  const std::uint32_t operation = f.float_function() & 0x3fU;
  const Kind kind = (operation & 0x1fU) == kDivide ? Kind::kFloatDivide : Kind::kFloat;
  return operate(kind, floating(f.c()), {floating(f.a()), floating(f.b())});
}

/// Opcode 17: copies of signs, conditional moves, the control register.
Instruction float_operation(const Fields& f) {
  const std::uint32_t function = f.float_function();
  if (function == 0x024) return make(Kind::kSystem, {}, {floating(f.a())});   // MT_FPCR
  if (function == 0x025) return operate(Kind::kSystem, floating(f.a()), {});  // MF_FPCR
  const bool is_conditional = function >= 0x02a && function <= 0x02f;         // FCMOVxx
  return operate(Kind::kFloat, floating(f.c()),
                 {floating(f.a()), floating(f.b()), is_conditional ? floating(f.c()) : std::nullopt});
}

/// Opcode 18: barriers, prefetches, the cycle counter. The displacement is the function.
Instruction miscellaneous(const Fields& f) {
  switch (f.word & 0xffffU) {
    case 0x0000:  // TRAPB
    case 0x0400:  // EXCB
    case 0x4000:  // MB
    case 0x4400:  // WMB
      return make(Kind::kSystem, {}, {});
    case 0x8000:  // FETCH
    case 0xa000:  // FETCH_M
    case 0xe800:  // ECB
    case 0xf800:  // WH64
      return no_op();
    case 0xc000:  // RPCC
    case 0xe000:  // RC
    case 0xf000:  // RS
      return make(Kind::kSystem, {integer(f.a())}, {});
    default:
      return {};
  }
}

/// Opcode 1a: jumps. The two bits above the hint of a target distinguish them.
Instruction jump(const Fields& f) {
  constexpr Branch kKinds[] = {Branch::kIndirect, Branch::kIndirectCall, Branch::kReturn, Branch::kIndirectCall};
  Instruction made = make(Kind::kBranch, {integer(f.a())}, {integer(f.b())});
  made.branch = kKinds[f.word >> 14 & 3U];
  return made;
}

/// Opcode 1c: extension of bytes and words, counting, multimedia, moves to integer registers.
Instruction extended(const Fields& f) {
  const std::uint32_t function = f.function();
  if (function == 0x70 || function == 0x78) return operate(Kind::kSimd, integer(f.c()), {floating(f.a())});  // FTOIT, FTOIS
  const bool is_known = function <= 0x01 || (function >= 0x30 && function <= 0x3f);
  return is_known ? operate(Kind::kInteger, integer(f.c()), {integer(f.a()), f.operand_b()}) : Instruction{};
}

}  // namespace

Instruction decode(std::uint32_t word) {
  const Fields f{word};
  switch (f.opcode()) {
    case 0x00:  // CALL_PAL
      return make(Kind::kSystem, {}, {});
    case 0x08:  // LDA
    case 0x09:  // LDAH
      return operate(Kind::kInteger, integer(f.a()), {integer(f.b())});
    case 0x0a:  // LDBU
    case 0x0b:  // LDQ_U
    case 0x0c:  // LDWU
    case 0x28:  // LDL
    case 0x29:  // LDQ
    case 0x2a:  // LDL_L
    case 0x2b:  // LDQ_L
      return load(integer(f.a()), integer(f.b()));
    case 0x0d:  // STW
    case 0x0e:  // STB
    case 0x0f:  // STQ_U
    case 0x2c:  // STL
    case 0x2d:  // STQ
      return store(Kind::kStore, {}, integer(f.b()), integer(f.a()));
    case 0x2e:  // STL_C
    case 0x2f:  // STQ_C
      return store(Kind::kAtomic, {integer(f.a())}, integer(f.b()), integer(f.a()));
    case 0x20:  // LDF
    case 0x21:  // LDG
    case 0x22:  // LDS
    case 0x23:  // LDT
      return load(floating(f.a()), integer(f.b()));
    case 0x24:  // STF
    case 0x25:  // STG
    case 0x26:  // STS
    case 0x27:  // STT
      return store(Kind::kStore, {}, integer(f.b()), floating(f.a()));
    case 0x10:  // addition, comparison
    case 0x12:  // shifts, bytes
      return operate(Kind::kInteger, integer(f.c()), {integer(f.a()), f.operand_b()});
    case 0x11:
      return logic(f);
    case 0x13:
      return operate(Kind::kMultiply, integer(f.c()), {integer(f.a()), f.operand_b()});
    case 0x14:
      return from_integer(f);
    case 0x15:
    case 0x16:
      return arithmetic(f);
    case 0x17:
      return float_operation(f);
    case 0x18:
      return miscellaneous(f);
    case 0x1a:
      return jump(f);
    case 0x1c:
      return extended(f);
    case 0x30:  // BR
      return branch(Branch::kDirect, f, {integer(f.a())}, {});
    case 0x34:  // BSR
      return branch(Branch::kCall, f, {integer(f.a())}, {});
    case 0x31:  // FBEQ
    case 0x32:  // FBLT
    case 0x33:  // FBLE
    case 0x35:  // FBNE
    case 0x36:  // FBGE
    case 0x37:  // FBGT
      return branch(Branch::kConditional, f, {}, {floating(f.a())});
    default:
      // BLBC, BEQ, BLT, BLE, BLBS, BNE, BGE, BGT. Below lie opcodes of PAL code, and reserved ones.
      return f.opcode() >= 0x38 ? branch(Branch::kConditional, f, {}, {integer(f.a())}) : Instruction{};
  }
}

}  // namespace dpubench::cores::alpha
