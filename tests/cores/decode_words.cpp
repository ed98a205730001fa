// Decodes words for a comparison: hexadecimal on standard input, one a line; out come "WORD KIND BRANCH TARGET written | address
// < read | data" with the numbers of cores/instruction.hpp. With --rows, the mask and the value of every row of the tables.
#include <cstdio>
#include <iostream>
#include <string>

#include "cores/a64/decode.hpp"
#include "cores/a64/row.hpp"

namespace a64 = dpubench::cores::a64;

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--rows") {
    for (const auto rows : {a64::immediate_rows(), a64::register_rows(), a64::control_rows(), a64::memory_rows(),
                            a64::structure_rows(), a64::float_rows(), a64::crypto_rows(), a64::vector_rows()}) {
      for (const a64::Row& row : rows) std::printf("%08x %08x\n", row.mask, row.value);
    }
    return 0;
  }
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const auto word = static_cast<std::uint32_t>(std::stoul(line, nullptr, 16));
    const dpubench::cores::Instruction i = a64::decode(word);
    std::printf("%08x %d %d %lld", word, static_cast<int>(i.kind), static_cast<int>(i.branch), static_cast<long long>(i.target));
    for (int r = 0; r < i.writes; ++r)
      std::printf("%s%d", r == i.first_address ? " | " : " ", i.written[static_cast<std::size_t>(r)]);
    std::printf(" <");
    for (int r = 0; r < i.reads; ++r) std::printf("%s%d", r == i.first_data ? " | " : " ", i.read[static_cast<std::size_t>(r)]);
    std::printf("\n");
  }
  return 0;
}
