#include "cores/a64/decode.hpp"

#include <array>
#include <optional>

#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

constexpr std::uint32_t kZeroRegister = 31;
constexpr std::uint32_t kFirstVector = 32;
constexpr std::int64_t kInstructionBytes = 4;

const Row* find(Rows rows, std::uint32_t word) {
  for (const Row& row : rows) {
    if ((word & row.mask) == row.value) return &row;
  }
  return nullptr;
}

/// Return the register's number in the model, or nothing for the zero register.
std::optional<std::uint8_t> number(const Row::Operand& operand, std::uint32_t word) {
  if (operand.file == Row::Operand::File::kFixed) return operand.place;
  const std::uint32_t field = word >> operand.place & ((1U << operand.bits) - 1);
  const std::uint32_t index = (field + operand.plus) % kFirstVector;
  if (operand.file == Row::Operand::File::kVector) return static_cast<std::uint8_t>(kFirstVector + index);
  if (operand.file == Row::Operand::File::kZero && index == kZeroRegister) return std::nullopt;
  return static_cast<std::uint8_t>(index);
}

/// Write the operands that are registers to `out`. @returns the index in `out` of the first operand from `boundary` on, and the
/// number of registers
template <typename Operands, typename Registers>
std::array<std::uint8_t, 2> place(const Operands& operands, std::uint8_t count, std::uint8_t boundary, std::uint32_t word,
                                  Registers& out) {
  std::uint8_t placed = 0;
  std::uint8_t first = 0;
  for (std::uint8_t i = 0; i < count; ++i) {
    if (i == boundary) first = placed;
    if (const auto found = number(operands[i], word)) out[placed++] = *found;
  }
  return {boundary == count ? placed : first, placed};
}

std::int64_t offset(const Row& row, std::uint32_t word) {
  const std::int64_t field = word >> row.offset_place & ((1U << row.offset_bits) - 1);
  const std::int64_t sign = std::int64_t{1} << (row.offset_bits - 1);
  return ((field ^ sign) - sign) * kInstructionBytes;
}

}  // namespace

/// Return the row of a word. Bits 28 to 25 choose the group (the table in C4.1).
const Row* find_row(std::uint32_t word) {
  const std::uint32_t group = word >> 25 & 0xf;
  if ((group & 0b1110) == 0b1000) return find(immediate_rows(), word);
  if ((group & 0b1110) == 0b1010) return find(control_rows(), word);
  if ((group & 0b0111) == 0b0101) return find(register_rows(), word);
  if ((group & 0b0101) == 0b0100) {
    const Row* row = find(structure_rows(), word);
    return row != nullptr ? row : find(memory_rows(), word);
  }
  if ((group & 0b0111) != 0b0111) return nullptr;
  // Bits 30 and 28 mark scalar floating point. Its bit 31 can be set too: it is the width of an integer register.
  if ((word & 0x50000000) == 0x10000000) return find(float_rows(), word);
  const Row* row = find(crypto_rows(), word);
  return row != nullptr ? row : find(vector_rows(), word);
}

Instruction decode(std::uint32_t word) {
  Instruction instruction;
  const Row* row = find_row(word);
  if (row == nullptr) return instruction;
  instruction.kind = row->kind;
  instruction.branch = row->branch;
  const auto [address, writes] = place(row->written, row->writes, row->first_address, word, instruction.written);
  const auto [data, reads] = place(row->read, row->reads, row->first_data, word, instruction.read);
  instruction.writes = writes;
  instruction.first_address = address;
  instruction.reads = reads;
  instruction.first_data = data;
  if (row->offset_bits != 0) instruction.target = offset(*row, word);
  return instruction;
}

}  // namespace dpubench::cores::a64
