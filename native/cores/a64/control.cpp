// Branches, exceptions and system instructions: Arm ARM, C4.1.93.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kControl[] = {
    // Conditions 14 and 15 are always met.
    {"01010100 iiiiiiiiiiiiiiiiiii x 111x", kBranch, "<", Branch::kDirect},
    {"01010100 iiiiiiiiiiiiiiiiiii x xxxx", kBranch, "< F", Branch::kConditional},
    {"x 011010 x iiiiiiiiiiiiiiiiiii ttttt", kBranch, "< Xt", Branch::kConditional},        // CBZ, CBNZ
    {"x 011011 x xxxxx iiiiiiiiiiiiii ttttt", kBranch, "< Xt", Branch::kConditional},       // TBZ, TBNZ
    {"0 00101 iiiiiiiiiiiiiiiiiiiiiiiiii", kBranch, "<", Branch::kDirect},                  // B
    {"1 00101 iiiiiiiiiiiiiiiiiiiiiiiiii", kBranch, "X30 <", Branch::kCall},                // BL
    {"1101011 0000 11111 000000 nnnnn 00000", kBranch, "< Xn", Branch::kIndirect},          // BR
    {"1101011 0001 11111 000000 nnnnn 00000", kBranch, "X30 < Xn", Branch::kIndirectCall},  // BLR
    {"1101011 0010 11111 000000 nnnnn 00000", kBranch, "< Xn", Branch::kReturn},            // RET
    // With authentication of the pointer: its modifier is zero, the stack pointer or a register.
    {"1101011 0000 11111 00001x nnnnn 11111", kBranch, "< Xn", Branch::kIndirect},             // BRAAZ
    {"1101011 0001 11111 00001x nnnnn 11111", kBranch, "X30 < Xn", Branch::kIndirectCall},     // BLRAAZ
    {"1101011 0010 11111 00001x 11111 11111", kBranch, "< X30 X31", Branch::kReturn},          // RETAA, RETAB
    {"1101011 1000 11111 00001x nnnnn mmmmm", kBranch, "< Xn Sm", Branch::kIndirect},          // BRAA
    {"1101011 1001 11111 00001x nnnnn mmmmm", kBranch, "X30 < Xn Sm", Branch::kIndirectCall},  // BLRAA
    {"1101011 010x 11111 000000 11111 00000", kSystem, "<"},                                   // ERET, DRPS
    {"11010100 000 xxxxxxxxxxxxxxxx 000 xx", kSystem, "<"},                                    // SVC, HVC, SMC
    {"11010100 001 xxxxxxxxxxxxxxxx 000 00", kSystem, "<"},                                    // BRK
    {"11010100 010 xxxxxxxxxxxxxxxx 000 00", kSystem, "<"},                                    // HLT
    {"1101010100 0 00 011 0010 xxxx xxx 11111", kNop, "<"},                                    // hints
    {"1101010100 0 00 011 0001 0000 00x ttttt", kSystem, "< Xt"},                              // WFET, WFIT
    {"1101010100 0 00 011 0011 xxxx xxx 11111", kSystem, "<"},                                 // barriers, CLREX
    {"1101010100 0 00 000 0100 xxxx 00x 11111", kInteger, "F < F"},                            // CFINV, XAFLAG
    {"1101010100 0 00 000 0100 xxxx 010 11111", kInteger, "F < F"},                            // AXFLAG
    {"1101010100 0 00 xxx 0100 xxxx xxx 11111", kSystem, "<"},                                 // MSR with an immediate
    {"1101010100 0 01 011 0111 0100 001 ttttt", kStore, "< Xt"},                               // DC ZVA
    {"1101010100 0 01 011 0111 0100 011 ttttt", kStore, "< Xt"},                               // DC GVA
    {"1101010100 0 01 011 0111 0100 100 ttttt", kStore, "< Xt"},                               // DC GZVA
    {"1101010100 0 01 xxx xxxx xxxx xxx ttttt", kSystem, "< Xt"},                              // SYS: caches, TLBs
    {"1101010100 1 01 xxx xxxx xxxx xxx ttttt", kSystem, "Xt <"},                              // SYSL
    {"1101010100 0 11 011 0100 0010 000 ttttt", kSystem, "F < Xt"},                            // MSR NZCV
    {"1101010100 0 1x xxx xxxx xxxx xxx ttttt", kSystem, "< Xt"},                              // MSR
    {"1101010100 1 11 011 0100 0010 000 ttttt", kSystem, "Xt < F"},                            // MRS of NZCV
    {"1101010100 1 11 011 0010 0100 00x ttttt", kSystem, "Xt F <"},                            // MRS of RNDR, RNDRRS
    {"1101010100 1 1x xxx xxxx xxxx xxx ttttt", kSystem, "Xt <"},                              // MRS
};

}  // namespace

Rows control_rows() {
  return kControl;
}

}  // namespace dpubench::cores::a64
