#include "cores/a64/decode.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {
namespace {

std::string name(std::uint8_t number) {
  if (number == kFlags) return "F";
  if (number == 31) return "SP";
  return number < 32 ? "X" + std::to_string(number) : "V" + std::to_string(number - 32);
}

/// Return the registers in the notation of rows: "written | address < read | data".
std::string registers(const Instruction& i) {
  std::string text;
  for (std::uint8_t r = 0; r < i.writes; ++r) text += (r == i.first_address ? "| " : "") + name(i.written[r]) + " ";
  text += "<";
  for (std::uint8_t r = 0; r < i.reads; ++r) text += (r == i.first_data ? " | " : " ") + name(i.read[r]);
  return text;
}

struct Known {
  std::uint32_t word;
  const char* text;  ///< in assembler notation
  Kind kind;
  const char* registers;
  Branch branch = Branch::kNone;
  std::int64_t target = 0;
};

/// Check the decoder against known words. binutils 2.40 assembled the words from the texts.
void expect_known(std::initializer_list<Known> all) {
  for (const Known& known : all) {
    const Instruction i = decode(known.word);
    EXPECT_EQ(i.kind, known.kind) << known.text;
    EXPECT_EQ(registers(i), known.registers) << known.text;
    EXPECT_EQ(i.branch, known.branch) << known.text;
    EXPECT_EQ(i.target, known.target) << known.text;
  }
}

using enum Kind;

TEST(Decode, Immediates) {
  expect_known({
      {0x10000043, "adr x3, .+8", kInteger, "X3 <"},
      {0x90000003, "adrp x3, .", kInteger, "X3 <"},
      {0x910043e1, "add x1, sp, #16", kInteger, "X1 < SP"},
      {0x910043ff, "add sp, sp, #16", kInteger, "SP < SP"},
      {0x510004a4, "sub w4, w5, #1", kInteger, "X4 < X5"},
      {0xb10043e1, "adds x1, sp, #16", kInteger, "X1 F < SP"},
      {0xf1000cff, "cmp x7, #3", kInteger, "F < X7"},
      {0x92401c62, "and x2, x3, #0xff", kInteger, "X2 < X3"},
      {0x927cec7f, "and sp, x3, #0xfffffffffffffff0", kInteger, "SP < X3"},
      {0x7200013f, "tst w9, #1", kInteger, "F < X9"},
      {0xd28000a0, "mov x0, #5", kInteger, "X0 <"},
      {0x928000a0, "movn x0, #5", kInteger, "X0 <"},
      {0xf2a000a0, "movk x0, #5, lsl #16", kInteger, "X0 < X0"},
      {0xd37cec41, "lsl x1, x2, #4", kInteger, "X1 < X2"},
      {0x93442c41, "sbfx x1, x2, #4, #8", kInteger, "X1 < X2"},
      {0xb37c1c41, "bfi x1, x2, #4, #8", kInteger, "X1 < X1 X2"},
      {0x93c31c41, "extr x1, x2, x3, #7", kInteger, "X1 < X2 X3"},
      {0x13821c41, "ror w1, w2, #7", kInteger, "X1 < X2 X2"},
  });
}

TEST(Decode, Registers) {
  expect_known({
      {0xaa0203e1, "mov x1, x2", kInteger, "X1 < X2"},
      {0x910003e1, "mov x1, sp", kInteger, "X1 < SP"},
      {0xaa2203e1, "mvn x1, x2", kInteger, "X1 < X2"},
      {0xcac32441, "eor x1, x2, x3, ror #9", kInteger, "X1 < X2 X3"},
      {0x6a030041, "ands w1, w2, w3", kInteger, "X1 F < X2 X3"},
      {0xea23005f, "bics xzr, x2, x3", kInteger, "F < X2 X3"},
      {0x8b030c41, "add x1, x2, x3, lsl #3", kInteger, "X1 < X2 X3"},
      {0xcb0303e1, "neg x1, x3", kInteger, "X1 < X3"},
      {0xeb030041, "subs x1, x2, x3", kInteger, "X1 F < X2 X3"},
      {0x6b02003f, "cmp w1, w2", kInteger, "F < X1 X2"},
      {0x8b2363ff, "add sp, sp, x3, uxtx", kInteger, "SP < SP X3"},
      {0xeb2343ff, "cmp sp, w3, uxtw", kInteger, "F < SP X3"},
      {0x9a030041, "adc x1, x2, x3", kInteger, "X1 < X2 X3 F"},
      {0xfa030041, "sbcs x1, x2, x3", kInteger, "X1 F < X2 X3 F"},
      {0xda0303e1, "ngc x1, x3", kInteger, "X1 < X3 F"},
      {0xfa420020, "ccmp x1, x2, #0, eq", kInteger, "F < X1 X2 F"},
      {0xfa420820, "ccmp x1, #2, #0, eq", kInteger, "F < X1 F"},
      {0x9a83b041, "csel x1, x2, x3, lt", kInteger, "X1 < X2 X3 F"},
      {0x9a9fa7e1, "cset x1, lt", kInteger, "X1 < F"},
      {0xba018425, "rmif x1, #3, #5", kInteger, "F < X1 F"},
      {0x3a00082d, "setf8 w1", kInteger, "F < X1 F"},
      {0x9b037c41, "mul x1, x2, x3", kMultiply, "X1 < X2 X3"},
      {0x9b031041, "madd x1, x2, x3, x4", kMultiply, "X1 < X2 X3 X4"},
      {0x1b039041, "msub w1, w2, w3, w4", kMultiply, "X1 < X2 X3 X4"},
      {0x9ba31041, "umaddl x1, w2, w3, x4", kMultiply, "X1 < X2 X3 X4"},
      {0x9b437c41, "smulh x1, x2, x3", kMultiply, "X1 < X2 X3"},
      {0x9ac30841, "udiv x1, x2, x3", kDivide, "X1 < X2 X3"},
      {0x1ac30c41, "sdiv w1, w2, w3", kDivide, "X1 < X2 X3"},
      {0x9ac32041, "lsl x1, x2, x3", kInteger, "X1 < X2 X3"},
      {0x1ac34041, "crc32b w1, w2, w3", kCrc, "X1 < X2 X3"},
      {0x9ac35c41, "crc32cx w1, w2, x3", kCrc, "X1 < X2 X3"},
      {0xdac01041, "clz x1, x2", kInteger, "X1 < X2"},
      {0x5ac00841, "rev w1, w2", kInteger, "X1 < X2"},
      {0xdac00041, "rbit x1, x2", kInteger, "X1 < X2"},
      {0xdac103e1, "pacia x1, sp", kInteger, "X1 < X1 SP"},
      {0xdac123e1, "paciza x1", kInteger, "X1 < X1"},
      {0xdac143e1, "xpaci x1", kInteger, "X1 < X1"},
      {0x9adf3041, "pacga x1, x2, sp", kInteger, "X1 < X2 SP"},
      {0x9ac3105f, "irg sp, x2, x3", kInteger, "SP < X2 X3"},
      {0x9ac303e1, "subp x1, sp, x3", kInteger, "X1 < SP X3"},
  });
}

TEST(Decode, BranchesAndSystem) {
  expect_known({
      {0x54ffffe0, "b.eq .-4", kBranch, "< F", Branch::kConditional, -4},
      {0x5400004e, "b.al .+8", kBranch, "<", Branch::kDirect, 8},
      {0xb4002003, "cbz x3, .+1024", kBranch, "< X3", Branch::kConditional, 1024},
      {0x3500005f, "cbnz wzr, .+8", kBranch, "<", Branch::kConditional, 8},
      {0xb647ffc3, "tbz x3, #40, .-8", kBranch, "< X3", Branch::kConditional, -8},
      {0x17ffffe0, "b .-128", kBranch, "<", Branch::kDirect, -128},
      {0x94000400, "bl .+4096", kBranch, "X30 <", Branch::kCall, 4096},
      {0xd61f0220, "br x17", kBranch, "< X17", Branch::kIndirect},
      {0xd63f0100, "blr x8", kBranch, "X30 < X8", Branch::kIndirectCall},
      {0xd65f03c0, "ret", kBranch, "< X30", Branch::kReturn},
      {0xd65f00a0, "ret x5", kBranch, "< X5", Branch::kReturn},
      {0xd65f0bff, "retaa", kBranch, "< X30 SP", Branch::kReturn},
      {0xd71f0822, "braa x1, x2", kBranch, "< X1 X2", Branch::kIndirect},
      {0xd73f083f, "blraa x1, sp", kBranch, "X30 < X1 SP", Branch::kIndirectCall},
      {0xd63f083f, "blraaz x1", kBranch, "X30 < X1", Branch::kIndirectCall},
      {0xd4000001, "svc #0", kSystem, "<"},
      {0xd4200020, "brk #1", kSystem, "<"},
      {0xd503201f, "nop", kNop, "<"},
      {0xd503245f, "bti c", kNop, "<"},
      {0xd5032a1f, "hint #0x50", kNop, "<"},
      {0xd503233f, "paciasp", kNop, "<"},
      {0xd5033bbf, "dmb ish", kSystem, "<"},
      {0xd5033fdf, "isb", kSystem, "<"},
      {0xd5033f5f, "clrex", kSystem, "<"},
      {0xd500401f, "cfinv", kInteger, "F < F"},
      {0xd50b7423, "dc zva, x3", kStore, "< X3"},
      {0xd50b7b23, "dc cvau, x3", kSystem, "< X3"},
      {0xd50b7523, "ic ivau, x3", kSystem, "< X3"},
      {0xd53bd043, "mrs x3, tpidr_el0", kSystem, "X3 <"},
      {0xd53b4203, "mrs x3, nzcv", kSystem, "X3 < F"},
      {0xd51b4203, "msr nzcv, x3", kSystem, "F < X3"},
      {0xd51b4403, "msr fpcr, x3", kSystem, "< X3"},
  });
}

TEST(Decode, LoadsAndStores) {
  expect_known({
      {0xf9400041, "ldr x1, [x2]", kLoad, "X1 < X2"},
      {0xf94007e1, "ldr x1, [sp, #8]", kLoad, "X1 < SP"},
      {0xf940005f, "ldr xzr, [x2]", kLoad, "< X2"},
      {0x38636841, "ldrb w1, [x2, x3]", kLoad, "X1 < X2 X3"},
      {0xb8a3d841, "ldrsw x1, [x2, w3, sxtw #2]", kLoad, "X1 < X2 X3"},
      {0xb85fd041, "ldur w1, [x2, #-3]", kLoad, "X1 < X2"},
      {0xb8400841, "ldtr w1, [x2]", kLoad, "X1 < X2"},
      {0xf8408441, "ldr x1, [x2], #8", kLoad, "X1 | X2 < X2"},
      {0xf85f0fe1, "ldr x1, [sp, #-16]!", kLoad, "X1 | SP < SP"},
      {0x58000081, "ldr x1, .+16", kLoad, "X1 <"},
      {0x98000081, "ldrsw x1, .+16", kLoad, "X1 <"},
      {0xf9000041, "str x1, [x2]", kStore, "< X2 | X1"},
      {0xb900005f, "str wzr, [x2]", kStore, "< X2"},
      {0xf8237841, "str x1, [x2, x3, lsl #3]", kStore, "< X2 X3 | X1"},
      {0xf81f0fe1, "str x1, [sp, #-16]!", kStore, "SP < SP | X1"},
      {0x78002441, "strh w1, [x2], #2", kStore, "X2 < X2 | X1"},
      {0x38000841, "sttrb w1, [x2]", kStore, "< X2 | X1"},
      {0xa9400861, "ldp x1, x2, [x3]", kLoad, "X1 X2 < X3"},
      {0xa8c27bfd, "ldp x29, x30, [sp], #32", kLoad, "X29 X30 | SP < SP"},
      {0x69410861, "ldpsw x1, x2, [x3, #8]", kLoad, "X1 X2 < X3"},
      {0xa9be7bfd, "stp x29, x30, [sp, #-32]!", kStore, "SP < SP | X29 X30"},
      {0xa9007c7f, "stp xzr, xzr, [x3]", kStore, "< X3"},
      {0xa8400861, "ldnp x1, x2, [x3]", kLoad, "X1 X2 < X3"},
      {0x28000861, "stnp w1, w2, [x3]", kStore, "< X3 | X1 X2"},
      {0xf9800020, "prfm pldl1keep, [x1]", kNop, "<"},
      {0xf8a26820, "prfm pldl1keep, [x1, x2]", kNop, "<"},
      {0xf89ff020, "prfum pldl1keep, [x1, #-1]", kNop, "<"},
      {0xd8000040, "prfm pldl1keep, .+8", kNop, "<"},
      {0x3d400041, "ldr b1, [x2]", kLoad, "V1 < X2"},
      {0x3dc00441, "ldr q1, [x2, #16]", kLoad, "V1 < X2"},
      {0x3cc10441, "ldr q1, [x2], #16", kLoad, "V1 | X2 < X2"},
      {0xfc5fd041, "ldur d1, [x2, #-3]", kLoad, "V1 < X2"},
      {0x3ce36841, "ldr q1, [x2, x3]", kLoad, "V1 < X2 X3"},
      {0x5c000081, "ldr d1, .+16", kLoad, "V1 <"},
      {0x3ca36841, "str q1, [x2, x3]", kStore, "< X2 X3 | V1"},
      {0xbc1fcc41, "str s1, [x2, #-4]!", kStore, "X2 < X2 | V1"},
      {0x3c9fd041, "stur q1, [x2, #-3]", kStore, "< X2 | V1"},
      {0xacc10861, "ldp q1, q2, [x3], #32", kLoad, "V1 V2 | X3 < X3"},
      {0x6d010be1, "stp d1, d2, [sp, #16]", kStore, "< SP | V1 V2"},
      {0xd920083f, "stg sp, [x1]", kStore, "< X1 | SP"},
      {0xd9601422, "stzg x2, [x1], #16", kStore, "X1 < X1 | X2"},
      {0xd9600022, "ldg x2, [x1]", kLoad, "X2 < X1 X2"},
      {0xf8200441, "ldraa x1, [x2]", kLoad, "X1 < X2"},
      {0xf8201c41, "ldraa x1, [x2, #8]!", kLoad, "X1 | X2 < X2"},
  });
}

TEST(Decode, AtomicsAndExclusives) {
  expect_known({
      {0xc85f7c41, "ldxr x1, [x2]", kLoad, "X1 < X2"},
      {0x085ffc41, "ldaxrb w1, [x2]", kLoad, "X1 < X2"},
      {0xc87f8c41, "ldaxp x1, x3, [x2]", kLoad, "X1 X3 < X2"},
      {0xc8017c62, "stxr w1, x2, [x3]", kAtomic, "X1 < X3 | X2"},
      {0xc8218c82, "stlxp w1, x2, x3, [x4]", kAtomic, "X1 < X4 | X2 X3"},
      {0xc8dffc41, "ldar x1, [x2]", kLoad, "X1 < X2"},
      {0xf8bfc041, "ldapr x1, [x2]", kLoad, "X1 < X2"},
      {0xc89fffe1, "stlr x1, [sp]", kStore, "< SP | X1"},
      {0xd91f8041, "stlur x1, [x2, #-8]", kStore, "< X2 | X1"},
      {0x99800041, "ldapursw x1, [x2]", kLoad, "X1 < X2"},
      {0xf8210062, "ldadd x1, x2, [x3]", kAtomic, "X2 < X3 | X1"},
      {0xf821007f, "stadd x1, [x3]", kAtomic, "< X3 | X1"},
      {0xf8e10062, "ldaddal x1, x2, [x3]", kAtomic, "X2 < X3 | X1"},
      {0x38e16062, "ldumaxalb w1, w2, [x3]", kAtomic, "X2 < X3 | X1"},
      {0xf8e18062, "swpal x1, x2, [x3]", kAtomic, "X2 < X3 | X1"},
      {0xc8a17c62, "cas x1, x2, [x3]", kAtomic, "X1 < X3 | X1 X2"},
      {0x08e1fc62, "casalb w1, w2, [x3]", kAtomic, "X1 < X3 | X1 X2"},
      {0x48227cc4, "casp x2, x3, x4, x5, [x6]", kAtomic, "X2 X3 < X6 | X2 X3 X4 X5"},
  });
}

TEST(Decode, VectorLoadsAndStores) {
  expect_known({
      {0x4c407020, "ld1 {v0.16b}, [x1]", kLoad, "V0 < X1"},
      {0x4cdf2020, "ld1 {v0.16b-v3.16b}, [x1], #64", kLoad, "V0 V1 V2 V3 | X1 < X1"},
      {0x4cc2ac3f, "ld1 {v31.2d, v0.2d}, [x1], x2", kLoad, "V31 V0 | X1 < X1 X2"},
      {0x4c408820, "ld2 {v0.4s, v1.4s}, [x1]", kLoad, "V0 V1 < X1"},
      {0x4c404420, "ld3 {v0.8h-v2.8h}, [x1]", kLoad, "V0 V1 V2 < X1"},
      {0x4cc20420, "ld4 {v0.8h-v3.8h}, [x1], x2", kLoad, "V0 V1 V2 V3 | X1 < X1 X2"},
      {0x4c006020, "st1 {v0.16b-v2.16b}, [x1]", kStore, "< X1 | V0 V1 V2"},
      {0x4c820420, "st4 {v0.8h-v3.8h}, [x1], x2", kStore, "X1 < X1 X2 | V0 V1 V2 V3"},
      {0x4d40c820, "ld1r {v0.4s}, [x1]", kLoad, "V0 < X1"},
      {0x4dffe820, "ld4r {v0.4s-v3.4s}, [x1], #16", kLoad, "V0 V1 V2 V3 | X1 < X1"},
      {0x0d400c20, "ld1 {v0.b}[3], [x1]", kLoad, "V0 < X1 V0"},
      {0x4ddf8420, "ld1 {v0.d}[1], [x1], #8", kLoad, "V0 | X1 < X1 V0"},
      {0x0dc2b020, "ld3 {v0.s-v2.s}[1], [x1], x2", kLoad, "V0 V1 V2 | X1 < X1 X2 V0 V1 V2"},
      {0x0d825820, "st1 {v0.h}[3], [x1], x2", kStore, "X1 < X1 X2 | V0"},
      {0x0d208420, "st2 {v0.d, v1.d}[0], [x1]", kStore, "< X1 | V0 V1"},
  });
}

TEST(Decode, ScalarFloatingPoint) {
  expect_known({
      {0x1e632841, "fadd d1, d2, d3", kFloat, "V1 < V2 V3"},
      {0x1e230841, "fmul s1, s2, s3", kFloat, "V1 < V2 V3"},
      {0x1e238841, "fnmul s1, s2, s3", kFloat, "V1 < V2 V3"},
      {0x1e631841, "fdiv d1, d2, d3", kFloatDivide, "V1 < V2 V3"},
      {0x1e61c041, "fsqrt d1, d2", kFloatDivide, "V1 < V2"},
      {0x1f431041, "fmadd d1, d2, d3, d4", kFloat, "V1 < V2 V3 V4"},
      {0x1e622020, "fcmp d1, d2", kFloat, "F < V1 V2"},
      {0x1e602038, "fcmpe d1, #0.0", kFloat, "F < V1"},
      {0x1e621420, "fccmp d1, d2, #0, ne", kFloat, "F < V1 V2 F"},
      {0x1e634c41, "fcsel d1, d2, d3, mi", kFloat, "V1 < V2 V3 F"},
      {0x1e6e1001, "fmov d1, #1.0", kFloat, "V1 <"},
      {0x1e604041, "fmov d1, d2", kFloat, "V1 < V2"},
      {0x9e660041, "fmov x1, d2", kSimd, "X1 < V2"},
      {0x9e670041, "fmov d1, x2", kSimd, "V1 < X2"},
      {0x9eaf0041, "fmov v1.d[1], x2", kSimd, "V1 < V1 X2"},
      {0x1e22c041, "fcvt d1, s2", kFloat, "V1 < V2"},
      {0x1e65c041, "frintz d1, d2", kFloat, "V1 < V2"},
      {0x9e620041, "scvtf d1, x2", kFloat, "V1 < X2"},
      {0x1e03ec41, "ucvtf s1, w2, #5", kFloat, "V1 < X2"},
      {0x9e780041, "fcvtzs x1, d2", kFloat, "X1 < V2"},
      {0x1e240041, "fcvtas w1, s2", kFloat, "X1 < V2"},
      {0x9e59ec41, "fcvtzu x1, d2, #5", kFloat, "X1 < V2"},
      {0x1e7e0041, "fjcvtzs w1, d2", kFloat, "X1 F < V2"},
  });
}

TEST(Decode, Vectors) {
  expect_known({
      {0x4ea38441, "add v1.4s, v2.4s, v3.4s", kSimd, "V1 < V2 V3"},
      {0x4e231c41, "and v1.16b, v2.16b, v3.16b", kSimd, "V1 < V2 V3"},
      {0x6e631c41, "bsl v1.16b, v2.16b, v3.16b", kSimd, "V1 < V1 V2 V3"},
      {0x6ee31c41, "bif v1.16b, v2.16b, v3.16b", kSimd, "V1 < V1 V2 V3"},
      {0x6e231c41, "eor v1.16b, v2.16b, v3.16b", kSimd, "V1 < V2 V3"},
      {0x4ea39c41, "mul v1.4s, v2.4s, v3.4s", kSimdMultiply, "V1 < V2 V3"},
      {0x4ea39441, "mla v1.4s, v2.4s, v3.4s", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x6f730841, "mla v1.8h, v2.8h, v3.h[7]", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x4fb38841, "mul v1.4s, v2.4s, v19.s[3]", kSimdMultiply, "V1 < V2 V19"},
      {0x4fd31841, "fmla v1.2d, v2.2d, v19.d[1]", kSimdMultiply, "V1 < V1 V2 V19"},
      {0x4e23cc41, "fmla v1.4s, v2.4s, v3.4s", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x6e23dc41, "fmul v1.4s, v2.4s, v3.4s", kSimdMultiply, "V1 < V2 V3"},
      {0x4e23d441, "fadd v1.4s, v2.4s, v3.4s", kSimd, "V1 < V2 V3"},
      {0x6e23fc41, "fdiv v1.4s, v2.4s, v3.4s", kFloatDivide, "V1 < V2 V3"},
      {0x6ea1f841, "fsqrt v1.4s, v2.4s", kFloatDivide, "V1 < V2"},
      {0x2ea3c041, "umull v1.2d, v2.2s, v3.2s", kSimdMultiply, "V1 < V2 V3"},
      {0x6ea38041, "umlal2 v1.2d, v2.4s, v3.4s", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x2e235041, "uabal v1.8h, v2.8b, v3.8b", kSimd, "V1 < V1 V2 V3"},
      {0x2e230041, "uaddl v1.8h, v2.8b, v3.8b", kSimd, "V1 < V2 V3"},
      {0x0e234041, "addhn v1.8b, v2.8h, v3.8h", kSimd, "V1 < V2 V3"},
      {0x4e234041, "addhn2 v1.16b, v2.8h, v3.8h", kSimd, "V1 < V1 V2 V3"},
      {0x0e212841, "xtn v1.8b, v2.8h", kSimd, "V1 < V2"},
      {0x4e212841, "xtn2 v1.16b, v2.8h", kSimd, "V1 < V1 V2"},
      {0x6e206841, "uadalp v1.8h, v2.16b", kSimd, "V1 < V1 V2"},
      {0x4e200841, "rev64 v1.16b, v2.16b", kSimd, "V1 < V2"},
      {0x4e205841, "cnt v1.16b, v2.16b", kSimd, "V1 < V2"},
      {0x4e31b841, "addv b1, v2.16b", kSimd, "V1 < V2"},
      {0x5ef1b841, "addp d1, v2.2d", kSimd, "V1 < V2"},
      {0x5ee38441, "add d1, d2, d3", kSimd, "V1 < V2 V3"},
      {0x4f235441, "shl v1.4s, v2.4s, #3", kSimd, "V1 < V2"},
      {0x6f3d1441, "usra v1.4s, v2.4s, #3", kSimd, "V1 < V1 V2"},
      {0x6f3d4441, "sri v1.4s, v2.4s, #3", kSimd, "V1 < V1 V2"},
      {0x7f435441, "sli d1, d2, #3", kSimd, "V1 < V1 V2"},
      {0x4f0d8441, "shrn2 v1.16b, v2.8h, #3", kSimd, "V1 < V1 V2"},
      {0x2f08a441, "uxtl v1.8h, v2.8b", kSimd, "V1 < V2"},
      {0x4f00e461, "movi v1.16b, #3", kSimd, "V1 <"},
      {0x4f03f601, "fmov v1.4s, #1.0", kSimd, "V1 <"},
      {0x4f001461, "orr v1.4s, #3", kSimd, "V1 < V1"},
      {0x6f009461, "bic v1.8h, #3", kSimd, "V1 < V1"},
      {0x4e0c0441, "dup v1.4s, v2.s[1]", kSimd, "V1 < V2"},
      {0x4e040c41, "dup v1.4s, w2", kSimd, "V1 < X2"},
      {0x4e0c1c41, "mov v1.s[1], w2", kSimd, "V1 < V1 X2"},
      {0x6e0c0441, "mov v1.s[1], v2.s[0]", kSimd, "V1 < V1 V2"},
      {0x6e0c2441, "mov v1.s[1], v2.s[1]", kSimd, "V1 < V1 V2"},
      {0x4e183c41, "mov x1, v2.d[1]", kSimd, "X1 < V2"},
      {0x4e032c41, "smov x1, v2.b[1]", kSimd, "X1 < V2"},
      {0x4e042041, "tbl v1.16b, {v2.16b, v3.16b}, v4.16b", kSimd, "V1 < V2 V3 V4"},
      {0x4e0473c1, "tbx v1.16b, {v30.16b, v31.16b, v0.16b, v1.16b}, v4.16b", kSimd, "V1 < V1 V30 V31 V0 V1 V4"},
      {0x4e833841, "zip1 v1.4s, v2.4s, v3.4s", kSimd, "V1 < V2 V3"},
      {0x6e032041, "ext v1.16b, v2.16b, v3.16b, #4", kSimd, "V1 < V2 V3"},
      {0x4e839441, "sdot v1.4s, v2.16b, v3.16b", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x6e838441, "sqrdmlah v1.4s, v2.4s, v3.4s", kSimdMultiply, "V1 < V1 V2 V3"},
      {0x6e83e441, "fcadd v1.4s, v2.4s, v3.4s, #90", kSimd, "V1 < V2 V3"},
      {0x4e430c41, "fmla v1.8h, v2.8h, v3.8h", kSimdMultiply, "V1 < V1 V2 V3"},
  });
}

TEST(Decode, Cryptography) {
  expect_known({
      {0x4e284841, "aese v1.16b, v2.16b", kAes, "V1 < V1 V2"},
      {0x4e286821, "aesmc v1.16b, v1.16b", kAes, "V1 < V1"},
      {0x5e030041, "sha1c q1, s2, v3.4s", kSha, "V1 < V1 V2 V3"},
      {0x5e280841, "sha1h s1, s2", kShaSchedule, "V1 < V2"},
      {0x5e281841, "sha1su1 v1.4s, v2.4s", kShaSchedule, "V1 < V1 V2"},
      {0x5e034041, "sha256h q1, q2, v3.4s", kSha, "V1 < V1 V2 V3"},
      {0x5e282841, "sha256su0 v1.4s, v2.4s", kShaSchedule, "V1 < V1 V2"},
      {0x5e036041, "sha256su1 v1.4s, v2.4s, v3.4s", kShaSchedule, "V1 < V1 V2 V3"},
      {0xce638041, "sha512h q1, q2, v3.2d", kSha, "V1 < V1 V2 V3"},
      {0xcec08041, "sha512su0 v1.2d, v2.2d", kShaSchedule, "V1 < V1 V2"},
      {0xce638c41, "rax1 v1.2d, v2.2d, v3.2d", kShaSchedule, "V1 < V2 V3"},
      {0xce031041, "eor3 v1.16b, v2.16b, v3.16b, v4.16b", kSimd, "V1 < V2 V3 V4"},
      {0xce830c41, "xar v1.2d, v2.2d, v3.2d, #3", kSimd, "V1 < V2 V3"},
      {0xce431041, "sm3ss1 v1.4s, v2.4s, v3.4s, v4.4s", kSha, "V1 < V2 V3 V4"},
      {0xcec08441, "sm4e v1.4s, v2.4s", kSha, "V1 < V1 V2"},
      {0x0ee3e041, "pmull v1.1q, v2.1d, v3.1d", kAes, "V1 < V2 V3"},
      {0x4e23e041, "pmull2 v1.8h, v2.16b, v3.16b", kAes, "V1 < V2 V3"},
  });
}

/// A row is a mistake if the rows before it leave nothing to it, or if its words lead to another table.
TEST(Decode, EveryRowIsReached) {
  std::mt19937 random(1);
  for (const Rows rows : {immediate_rows(), register_rows(), control_rows(), memory_rows(), structure_rows(), float_rows(),
                          crypto_rows(), vector_rows()}) {
    for (const Row& row : rows) {
      bool is_reached = false;
      for (int i = 0; i < 1000 && !is_reached; ++i) {
        is_reached = find_row(row.value | (static_cast<std::uint32_t>(random()) & ~row.mask)) == &row;
      }
      EXPECT_TRUE(is_reached) << std::hex << row.value << " mask " << row.mask;
    }
  }
}

TEST(Decode, WhatIsNoInstructionOrNotKnownIsUnknown) {
  for (const std::uint32_t word : {0x00000000U,  // UDF
                                   0xffffffffU,
                                   0x25221cc1U,  // SVE: whilelo
                                   0x1d010400U,  // MOPS: cpyfm
                                   0xf83f9020U,  // LS64: st64b
                                   0xf8c00000U,  // LDURSW with a width that does not exist
                                   0xfd800000U}) {
    const Instruction i = decode(word);
    EXPECT_EQ(i.kind, Kind::kUnknown) << std::hex << word;
    EXPECT_EQ(registers(i), "<") << std::hex << word;
    EXPECT_EQ(i.branch, Branch::kNone);
  }
}

}  // namespace
}  // namespace dpubench::cores::a64
