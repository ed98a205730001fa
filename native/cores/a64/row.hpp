// A row of the decoder's tables, in the notation of the Arm ARM. The compiler checks the notation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "cores/instruction.hpp"

namespace dpubench::cores::a64 {

/// The encoding of a class of instructions, and its use of registers.
///
/// The encoding has 32 symbols without the spaces. 0 and 1 are fixed bits. x is any bit. i is the offset of a direct branch in
/// instructions. d, n, m, a, t, u and s are fields of register numbers. l is a field of four bits for the lower half of the
/// vector registers.
///
/// The operands are the written registers, '<', and the read registers. A register is X (31 is the zero register), S (31 is the
/// stack pointer) or V with the letter of a field, to which +1 to +3 adds; or X with a number; or F, the flags. Behind a '|',
/// written registers are addresses and read registers are data: see Instruction::first_address and first_data.
struct Row {
  struct Operand {
    enum class File : std::uint8_t { kZero, kStack, kVector, kFixed };
    File file = File::kFixed;
    std::uint8_t place = 0;  ///< lowest bit of the field; for a fixed register its number
    std::uint8_t bits = 0;
    std::uint8_t plus = 0;
  };

  std::uint32_t mask = 0;
  std::uint32_t value = 0;
  Kind kind = Kind::kUnknown;
  Branch branch = Branch::kNone;
  std::uint8_t reads = 0;
  std::uint8_t writes = 0;
  std::uint8_t first_address = 0;
  std::uint8_t first_data = 0;
  std::uint8_t offset_place = 0;
  std::uint8_t offset_bits = 0;
  std::array<Operand, std::tuple_size_v<decltype(Instruction::read)>> read{};
  std::array<Operand, std::tuple_size_v<decltype(Instruction::written)>> written{};

  consteval Row(const char* encoding, Kind row_kind, const char* operands, Branch row_branch = Branch::kNone)
      : kind(row_kind), branch(row_branch) {
    parse_encoding(encoding);
    parse_operands(operands, encoding);
  }

 private:
  struct Field {
    std::uint8_t place = 0;
    std::uint8_t bits = 0;
  };

  static consteval Field field(const char* encoding, char letter) {
    Field found;
    std::uint8_t bit = 32;
    for (const char* at = encoding; *at != '\0'; ++at) {
      if (*at == ' ') continue;
      --bit;
      if (*at != letter) continue;
      if (found.bits != 0 && bit + 1 != found.place) throw "a field in two pieces";
      found = {bit, static_cast<std::uint8_t>(found.bits + 1)};
    }
    return found;
  }

  consteval void parse_encoding(const char* encoding) {
    int symbols = 0;
    for (const char* at = encoding; *at != '\0'; ++at) {
      if (*at == ' ') continue;
      ++symbols;
      mask = mask << 1 | (*at == '0' || *at == '1' ? 1U : 0U);
      value = value << 1 | (*at == '1' ? 1U : 0U);
    }
    if (symbols != 32) throw "an encoding has 32 symbols";
    const Field offset = field(encoding, 'i');
    offset_place = offset.place;
    offset_bits = offset.bits;
  }

  static consteval Operand operand(const char* text, const char* encoding) {
    if (text[0] == 'F') return {Operand::File::kFixed, kFlags, 0, 0};
    if (text[1] >= '0' && text[1] <= '9') {
      return {Operand::File::kFixed, static_cast<std::uint8_t>((text[1] - '0') * 10 + text[2] - '0'), 0, 0};
    }
    const Field place = field(encoding, text[1]);
    if (place.bits != (text[1] == 'l' ? 4 : 5)) throw "an operand without a field";
    const auto plus = static_cast<std::uint8_t>(text[2] == '+' ? text[3] - '0' : 0);
    switch (text[0]) {
      case 'X':
        return {Operand::File::kZero, place.place, place.bits, plus};
      case 'S':
        return {Operand::File::kStack, place.place, place.bits, plus};
      case 'V':
        return {Operand::File::kVector, place.place, place.bits, plus};
      default:
        throw "an operand of no kind";
    }
  }

  consteval void parse_operands(const char* text, const char* encoding) {
    bool is_read = false;
    bool has_address = false;
    bool has_data = false;
    for (const char* at = text; *at != '\0';) {
      if (*at == ' ') {
        ++at;
      } else if (*at == '<') {
        is_read = true;
        ++at;
      } else if (*at == '|') {
        (is_read ? first_data : first_address) = is_read ? reads : writes;
        (is_read ? has_data : has_address) = true;
        ++at;
      } else {
        (is_read ? read.at(reads++) : written.at(writes++)) = operand(at, encoding);
        while (*at != '\0' && *at != ' ') ++at;
      }
    }
    if (!is_read) throw "no '<' between written and read";
    if (!has_address) first_address = writes;
    if (!has_data) first_data = reads;
  }
};

/// A table of rows. A word belongs to the first row that it matches.
using Rows = std::span<const Row>;
Rows immediate_rows();  ///< C4.1.92, data processing with an immediate
Rows register_rows();   ///< C4.1.95, data processing with registers
Rows control_rows();    ///< C4.1.93, branches, exceptions and system instructions
Rows memory_rows();     ///< C4.1.94, loads and stores of one to two registers, atomics
Rows structure_rows();  ///< C4.1.94, loads and stores of vectors and their elements
Rows float_rows();      ///< C4.1.96, scalar floating point
Rows vector_rows();     ///< C4.1.96, NEON, and the scalar forms of its instructions
Rows crypto_rows();     ///< C4.1.96, cryptographic instructions

/// Return the row that decodes `word`, or nullptr.
const Row* find_row(std::uint32_t word);

}  // namespace dpubench::cores::a64
