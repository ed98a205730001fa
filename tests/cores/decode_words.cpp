// Decodes words for a comparison: hexadecimal on standard input, one a line; out come "WORD KIND BRANCH TARGET written|address
// < read|data" with the numbers of cores/instruction.hpp.
#include <cstdio>
#include <iostream>
#include <string>

#include "cores/a64/decode.hpp"

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const auto word = static_cast<std::uint32_t>(std::stoul(line, nullptr, 16));
    const dpubench::cores::Instruction i = dpubench::cores::a64::decode(word);
    std::printf("%08x %d %d %lld", word, static_cast<int>(i.kind), static_cast<int>(i.branch), static_cast<long long>(i.target));
    for (int r = 0; r < i.writes; ++r) std::printf("%s%d", r == i.first_address ? " | " : " ", i.written[static_cast<std::size_t>(r)]);
    std::printf(" <");
    for (int r = 0; r < i.reads; ++r) std::printf("%s%d", r == i.first_data ? " | " : " ", i.read[static_cast<std::size_t>(r)]);
    std::printf("\n");
  }
  return 0;
}
