// Tests of the Alpha decoder on words that the GNU assembler gives for the instructions beside them.

#include "cores/alpha/decode.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace dpubench::cores::alpha {
namespace {

using Numbers = std::vector<unsigned>;

struct Case {
  const char* text;
  std::uint32_t word;
  Kind kind;
  Numbers written;
  Numbers read;
  Branch branch = Branch::kNone;
  std::int64_t target = 0;
};

constexpr unsigned kF = 32;

TEST(AlphaDecode, KindsAndRegisters) {
  const std::initializer_list<Case> cases = {
      {"addl $1,$2,$3", 0x40220003, Kind::kInteger, {3}, {1, 2}},
      {"s8addq $4,7,$5", 0x4080f645, Kind::kInteger, {5}, {4}},
      {"cmpult $1,$2,$0", 0x402203a0, Kind::kInteger, {0}, {1, 2}},
      {"nop", 0x47ff041f, Kind::kNop, {}, {}},
      {"mov 0x50,$31", 0x47ea141f, Kind::kNop, {}, {}},
      {"mov $9,$10", 0x47e9040a, Kind::kInteger, {10}, {9}},
      {"cmoveq $1,$2,$3", 0x44220483, Kind::kInteger, {3}, {1, 2, 3}},
      {"extbl $1,$2,$3", 0x482200c3, Kind::kInteger, {3}, {1, 2}},
      {"zapnot $1,15,$1", 0x4821f621, Kind::kInteger, {1}, {1}},
      {"mulq $1,$2,$3", 0x4c220403, Kind::kMultiply, {3}, {1, 2}},
      {"umulh $1,$2,$3", 0x4c220603, Kind::kMultiply, {3}, {1, 2}},
      {"ldbu $1,5($2)", 0x28220005, Kind::kLoad, {1}, {2}},
      {"unop", 0x2ffe0000, Kind::kNop, {}, {}},
      {"ldl $31,0($3)", 0xa3e30000, Kind::kNop, {}, {}},
      {"ldq $4,8($30)", 0xa49e0008, Kind::kLoad, {4}, {30}},
      {"ldq_l $4,0($5)", 0xac850000, Kind::kLoad, {4}, {5}},
      {"stq $4,8($30)", 0xb49e0008, Kind::kStore, {}, {30, 4}},
      {"stb $1,0($2)", 0x38220000, Kind::kStore, {}, {2, 1}},
      {"stl $31,0($2)", 0xb3e20000, Kind::kStore, {}, {2}},
      {"stq_c $4,0($5)", 0xbc850000, Kind::kAtomic, {4}, {5, 4}},
      {"ldt $f1,0($2)", 0x8c220000, Kind::kLoad, {kF + 1}, {2}},
      {"stt $f1,0($2)", 0x9c220000, Kind::kStore, {}, {2, kF + 1}},
      {"addt $f1,$f2,$f3", 0x58221403, Kind::kFloat, {kF + 3}, {kF + 1, kF + 2}},
      {"divt $f1,$f2,$f3", 0x58221463, Kind::kFloatDivide, {kF + 3}, {kF + 1, kF + 2}},
      {"sqrtt $f2,$f3", 0x53e21563, Kind::kFloatDivide, {kF + 3}, {kF + 2}},
      {"itoft $1,$f2", 0x503f0482, Kind::kSimd, {kF + 2}, {1}},
      {"ftoit $f1,$2", 0x703f0e02, Kind::kSimd, {2}, {kF + 1}},
      {"fmov $f1,$f2", 0x5c210402, Kind::kFloat, {kF + 2}, {kF + 1, kF + 1}},
      {"sextb $1,$2", 0x73e10002, Kind::kInteger, {2}, {1}},
      {"ctlz $1,$2", 0x73e10642, Kind::kInteger, {2}, {1}},
      {"mb", 0x60004000, Kind::kSystem, {}, {}},
      {"rpcc $3", 0x607fc000, Kind::kSystem, {3}, {}},
      {"lda $1,16($2)", 0x20220010, Kind::kInteger, {1}, {2}},
      {"ldah $29,0($27)", 0x27bb0000, Kind::kInteger, {29}, {27}},
      {"call_pal callsys", 0x00000083, Kind::kSystem, {}, {}},
      {"beq $1,.", 0xe43fffff, Kind::kBranch, {}, {1}, Branch::kConditional, 0},
      {"bne $1,.+12", 0xf4200002, Kind::kBranch, {}, {1}, Branch::kConditional, 12},
      {"br $31,.-8", 0xc3fffffd, Kind::kBranch, {}, {}, Branch::kDirect, -8},
      {"bsr $26,.+4", 0xd3400000, Kind::kBranch, {26}, {}, Branch::kCall, 4},
      {"jsr $26,($27)", 0x6b5b4000, Kind::kBranch, {26}, {27}, Branch::kIndirectCall},
      {"ret $31,($26),1", 0x6bfa8001, Kind::kBranch, {}, {26}, Branch::kReturn},
      {"jmp $31,($1)", 0x6be10000, Kind::kBranch, {}, {1}, Branch::kIndirect},
      {"fbeq $f1,.-28", 0xc43ffff8, Kind::kBranch, {}, {kF + 1}, Branch::kConditional, -28},
  };
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.text);
    const Instruction found = decode(expected.word);
    EXPECT_EQ(found.kind, expected.kind);
    EXPECT_EQ(found.branch, expected.branch);
    EXPECT_EQ(found.target, expected.target);
    EXPECT_EQ(Numbers(found.written.begin(), found.written.begin() + found.writes), expected.written);
    EXPECT_EQ(Numbers(found.read.begin(), found.read.begin() + found.reads), expected.read);
    EXPECT_EQ(found.first_address, found.writes);
  }
}

TEST(AlphaDecode, AStoresDataFollowsItsAddress) {
  EXPECT_EQ(decode(0xb49e0008).first_data, 1U);  // stq $4,8($30)
  EXPECT_EQ(decode(0xb3e20000).first_data, 1U);  // stl $31,0($2): no data
  EXPECT_EQ(decode(0xb43f0000).first_data, 0U);  // stq $1,0($31): an address without a register
  EXPECT_EQ(decode(0x40220003).first_data, 2U);
}

TEST(AlphaDecode, ReservedWordsAreUnknown) {
  // Opcodes 01 to 07, those of PAL code, and functions that no instruction has.
  for (const std::uint32_t word : {0x04000000U, 0x1c000000U, 0x64000000U, 0x6c000000U, 0x74000000U, 0x7c000000U, 0x44220fe3U,
                                   0x60001234U, 0x50000003U, 0x70000183U}) {
    EXPECT_EQ(decode(word).kind, Kind::kUnknown) << std::hex << word;
  }
}

}  // namespace
}  // namespace dpubench::cores::alpha
