// NEON and cryptographic instructions: Arm ARM, C4.1.96. Vector and scalar forms differ in bit 28 and share a row if their
// operands are the same. An instruction also reads its destination if it accumulates, inserts, or narrows into the upper half.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kCryptoRows[] = {
    {"01001110 00 10100 0010x 10 nnnnn ddddd", kAes, "Vd < Vd Vn"},               // AESE, AESD
    {"01001110 00 10100 0011x 10 nnnnn ddddd", kAes, "Vd < Vn"},                  // AESMC, AESIMC
    {"0 x 0 01110 xx 1 mmmmm 1110 00 nnnnn ddddd", kAes, "Vd < Vn Vm"},           // PMULL
    {"01011110 00 0 mmmmm 0 011 00 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn Vm"},  // SHA1SU0
    {"01011110 00 0 mmmmm 0 0xx 00 nnnnn ddddd", kSha, "Vd < Vd Vn Vm"},          // SHA1C, SHA1P, SHA1M
    {"01011110 00 0 mmmmm 0 10x 00 nnnnn ddddd", kSha, "Vd < Vd Vn Vm"},          // SHA256H, SHA256H2
    {"01011110 00 0 mmmmm 0 110 00 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn Vm"},  // SHA256SU1
    {"01011110 00 10100 00000 10 nnnnn ddddd", kShaSchedule, "Vd < Vn"},          // SHA1H
    {"01011110 00 10100 00001 10 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn"},       // SHA1SU1
    {"01011110 00 10100 00010 10 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn"},       // SHA256SU0
    {"11001110 011 mmmmm 1000 11 nnnnn ddddd", kShaSchedule, "Vd < Vn Vm"},       // RAX1
    {"11001110 011 mmmmm 1000 10 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn Vm"},    // SHA512SU1
    {"11001110 011 mmmmm 1000 0x nnnnn ddddd", kSha, "Vd < Vd Vn Vm"},            // SHA512H, SHA512H2
    {"11001110 011 mmmmm 1100 0x nnnnn ddddd", kShaSchedule, "Vd < Vd Vn Vm"},    // SM3PARTW1, SM3PARTW2
    {"11001110 011 mmmmm 1100 10 nnnnn ddddd", kShaSchedule, "Vd < Vn Vm"},       // SM4EKEY
    {"11001110 00x mmmmm 0 aaaaa nnnnn ddddd", kSimd, "Vd < Vn Vm Va"},           // EOR3, BCAX
    {"11001110 010 mmmmm 0 aaaaa nnnnn ddddd", kSha, "Vd < Vn Vm Va"},            // SM3SS1
    {"11001110 010 mmmmm 10 xx xx nnnnn ddddd", kSha, "Vd < Vd Vn Vm"},           // SM3TT1A and similar ones
    {"11001110 100 mmmmm xxxxxx nnnnn ddddd", kSimd, "Vd < Vn Vm"},               // XAR
    {"11001110 110 00000 1000 00 nnnnn ddddd", kShaSchedule, "Vd < Vd Vn"},       // SHA512SU0
    {"11001110 110 00000 1000 01 nnnnn ddddd", kSha, "Vd < Vd Vn"},               // SM4E
};

constexpr Row kVectorRows[] = {
    // Copies between lanes, and between lanes and integer registers.
    {"0 x 0 x 1110000 xxxxx 0 0000 1 nnnnn ddddd", kSimd, "Vd < Vn"},    // DUP of an element
    {"0 x 0 01110000 xxxxx 0 0001 1 nnnnn ddddd", kSimd, "Vd < Xn"},     // DUP
    {"0 x 0 01110000 xxxxx 0 01x1 1 nnnnn ddddd", kSimd, "Xd < Vn"},     // SMOV, UMOV
    {"0 1 0 01110000 xxxxx 0 0011 1 nnnnn ddddd", kSimd, "Vd < Vd Xn"},  // INS
    {"0 1 1 01110000 xxxxx 0 xxxx 1 nnnnn ddddd", kSimd, "Vd < Vd Vn"},  // INS of an element
    // Tables, permutations, extraction.
    {"0 x 001110 000 mmmmm 0 00 0 00 nnnnn ddddd", kSimd, "Vd < Vn Vm"},  // TBL
    {"0 x 001110 000 mmmmm 0 01 0 00 nnnnn ddddd", kSimd, "Vd < Vn Vn+1 Vm"},
    {"0 x 001110 000 mmmmm 0 10 0 00 nnnnn ddddd", kSimd, "Vd < Vn Vn+1 Vn+2 Vm"},
    {"0 x 001110 000 mmmmm 0 11 0 00 nnnnn ddddd", kSimd, "Vd < Vn Vn+1 Vn+2 Vn+3 Vm"},
    {"0 x 001110 000 mmmmm 0 00 1 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},  // TBX
    {"0 x 001110 000 mmmmm 0 01 1 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vn+1 Vm"},
    {"0 x 001110 000 mmmmm 0 10 1 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vn+1 Vn+2 Vm"},
    {"0 x 001110 000 mmmmm 0 11 1 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vn+1 Vn+2 Vn+3 Vm"},
    {"0 x 001110 xx 0 mmmmm 0 xxx 10 nnnnn ddddd", kSimd, "Vd < Vn Vm"},  // ZIP, UZP, TRN
    {"0 x 101110 000 mmmmm 0 xxxx 0 nnnnn ddddd", kSimd, "Vd < Vn Vm"},   // EXT
    // Three registers of the same width, half precision.
    {"0 x 0 x1110 x10 mmmmm 00 001 1 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // FMLA, FMLS
    {"0 x x x1110 010 mmmmm 00 011 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // FMUL, FMULX
    {"0 x 1 01110 010 mmmmm 00 111 1 nnnnn ddddd", kFloatDivide, "Vd < Vn Vm"},      // FDIV
    {"0 x 0 x1110 x10 mmmmm 00 111 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // FRECPS, FRSQRTS
    {"0 x x x1110 x10 mmmmm 00 xxx 1 nnnnn ddddd", kSimd, "Vd < Vn Vm"},
    // Three registers of the same width, later extensions: dot and matrix products, complex numbers, SQRDMLAH.
    {"0 x 1 01110 xx 0 mmmmm 1 11x0 1 nnnnn ddddd", kSimd, "Vd < Vn Vm"},  // FCADD
    {"0 x x x1110 xx 0 mmmmm 1 xxxx 1 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},
    // Two registers, also half precision; across lanes; pairwise.
    {"0 x x x1110 xx 10000 00011 10 nnnnn ddddd", kSimd, "Vd < Vd Vn"},      // SUQADD, USQADD
    {"0 x x 01110 xx 10000 00110 10 nnnnn ddddd", kSimd, "Vd < Vd Vn"},      // SADALP, UADALP
    {"0 1 x 01110 xx 10000 10010 10 nnnnn ddddd", kSimd, "Vd < Vd Vn"},      // XTN2, SQXTUN2
    {"0 1 x 01110 xx 10000 10100 10 nnnnn ddddd", kSimd, "Vd < Vd Vn"},      // SQXTN2, UQXTN2
    {"0 1 x 01110 xx 10000 10110 10 nnnnn ddddd", kSimd, "Vd < Vd Vn"},      // FCVTN2, FCVTXN2, BFCVTN2
    {"0 x 1 01110 1x 10000 11111 10 nnnnn ddddd", kFloatDivide, "Vd < Vn"},  // FSQRT
    {"0 x 1 01110 11 11100 11111 10 nnnnn ddddd", kFloatDivide, "Vd < Vn"},
    {"0 x x x1110 xx 10000 xxxxx 10 nnnnn ddddd", kSimd, "Vd < Vn"},
    {"0 x x x1110 x1 11100 xxxxx 10 nnnnn ddddd", kSimd, "Vd < Vn"},
    {"0 x x x1110 xx 11000 xxxxx 10 nnnnn ddddd", kSimd, "Vd < Vn"},
    // Three registers of different widths.
    {"0 1 x 01110 xx 1 mmmmm 01x0 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},          // ADDHN2, SUBHN2
    {"0 x x 01110 xx 1 mmmmm 0101 00 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},          // SABAL, UABAL
    {"0 x x x1110 xx 1 mmmmm 10xx 00 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // SMLAL, SQDMLAL and similar ones
    {"0 x x x1110 xx 1 mmmmm 110x 00 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // SMULL, SQDMULL
    {"0 x x 01110 xx 1 mmmmm 0xxx 00 nnnnn ddddd", kSimd, "Vd < Vn Vm"},
    // Three registers of the same width.
    {"0 x 1 01110 01 1 mmmmm 00011 1 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},          // BSL
    {"0 x 1 01110 1x 1 mmmmm 00011 1 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},          // BIT, BIF
    {"0 x x 01110 xx 1 mmmmm 01111 1 nnnnn ddddd", kSimd, "Vd < Vd Vn Vm"},          // SABA, UABA
    {"0 x x 01110 xx 1 mmmmm 10010 1 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // MLA, MLS
    {"0 x x 01110 xx 1 mmmmm 10011 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // MUL, PMUL
    {"0 x x x1110 xx 1 mmmmm 10110 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // SQDMULH, SQRDMULH
    {"0 x x 01110 xx 1 mmmmm 11001 1 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // FMLA, FMLS, FMLAL2
    {"0 x 0 01110 xx 1 mmmmm 11101 1 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // FMLAL, FMLSL
    {"0 x x x1110 0x 1 mmmmm 11011 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // FMUL, FMULX
    {"0 x 1 01110 0x 1 mmmmm 11111 1 nnnnn ddddd", kFloatDivide, "Vd < Vn Vm"},      // FDIV
    {"0 x 0 x1110 xx 1 mmmmm 11111 1 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},     // FRECPS, FRSQRTS
    {"0 x x x1110 xx 1 mmmmm xxxxx 1 nnnnn ddddd", kSimd, "Vd < Vn Vm"},
    // Immediates. ORR and BIC keep the bits that they do not change.
    {"0 x x 0111100000 xxx 0xx1 01 xxxxx ddddd", kSimd, "Vd < Vd"},
    {"0 x x 0111100000 xxx 10x1 01 xxxxx ddddd", kSimd, "Vd < Vd"},
    {"0 x x 0111100000 xxx xxxx x1 xxxxx ddddd", kSimd, "Vd <"},  // MOVI, MVNI, FMOV
    // Shifts by an immediate.
    {"0 x x x11110 xxxx xxx 00x10 1 nnnnn ddddd", kSimd, "Vd < Vd Vn"},  // SSRA, SRSRA and similar ones
    {"0 x 1 x11110 xxxx xxx 010x0 1 nnnnn ddddd", kSimd, "Vd < Vd Vn"},  // SRI, SLI
    {"0 1 x 011110 xxxx xxx 100xx 1 nnnnn ddddd", kSimd, "Vd < Vd Vn"},  // SHRN2, SQSHRN2 and similar ones
    {"0 x x x11110 xxxx xxx xxxxx 1 nnnnn ddddd", kSimd, "Vd < Vn"},
    // By an element. A 16-bit element comes from the lower half of the registers. BFDOT and FCMLA take two elements, so they may
    // use all registers.
    {"0 x 0 01111 01 x mmmmm 1111 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // BFDOT
    {"0 x 1 01111 01 x mmmmm 0xx1 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // FCMLA
    {"0 x 0 01111 11 xx llll 1111 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vl"},  // BFMLALB, BFMLALT
    {"0 x x 01111 00 x mmmmm 1111 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // SUDOT
    {"0 x 0 01111 10 xx llll 0x00 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vl"},  // FMLAL, FMLSL
    {"0 x 1 01111 10 xx llll 1x00 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vl"},  // FMLAL2, FMLSL2
    {"0 x x x1111 0x xx llll 0xxx x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vl"},  // MLA, FMLA, SMLAL, SQDMLAL etc.
    {"0 x 1 x1111 0x xx llll 11x1 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vl"},  // SQRDMLAH, SQRDMLSH
    {"0 x x x1111 0x xx llll 1xxx x0 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vl"},     // MUL, FMUL, SMULL, SQDMULH etc.
    {"0 x x x1111 1x x mmmmm 0xxx x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},
    {"0 x 1 x1111 1x x mmmmm 11x1 x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},
    {"0 x x x1111 1x x mmmmm 111x x0 nnnnn ddddd", kSimdMultiply, "Vd < Vd Vn Vm"},  // SDOT, UDOT, USDOT
    {"0 x x x1111 1x x mmmmm 1xxx x0 nnnnn ddddd", kSimdMultiply, "Vd < Vn Vm"},
};

}  // namespace

Rows crypto_rows() {
  return kCryptoRows;
}
Rows vector_rows() {
  return kVectorRows;
}

}  // namespace dpubench::cores::a64
