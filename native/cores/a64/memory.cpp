// Loads and stores of one to two registers, and atomics: Arm ARM, C4.1.94. Pairs without write-back share their rows with the
// no-allocate form.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kMemory[] = {
    // Compare and swap, exclusive accesses, ordered accesses.
    {"0x 001000 0x1 sssss x 11111 nnnnn ttttt", kAtomic, "Xs Xs+1 < Sn | Xs Xs+1 Xt Xt+1"},  // CASP
    {"xx 001000 1x1 sssss x 11111 nnnnn ttttt", kAtomic, "Xs < Sn | Xs Xt"},                 // CAS
    {"xx 001000 000 sssss x xxxxx nnnnn ttttt", kAtomic, "Xs < Sn | Xt"},                    // STXR, STLXR
    {"xx 001000 010 xxxxx x xxxxx nnnnn ttttt", kLoad, "Xt < Sn"},                           // LDXR, LDAXR
    {"1x 001000 001 sssss x uuuuu nnnnn ttttt", kAtomic, "Xs < Sn | Xt Xu"},                 // STXP, STLXP
    {"1x 001000 011 xxxxx x uuuuu nnnnn ttttt", kLoad, "Xt Xu < Sn"},                        // LDXP, LDAXP
    {"xx 001000 100 xxxxx x xxxxx nnnnn ttttt", kStore, "< Sn | Xt"},                        // STLR, STLLR
    {"xx 001000 110 xxxxx x xxxxx nnnnn ttttt", kLoad, "Xt < Sn"},                           // LDAR, LDLAR
    {"xx 011001 00 0 xxxxxxxxx 00 nnnnn ttttt", kStore, "< Sn | Xt"},                        // STLUR
    {"xx 011001 xx 0 xxxxxxxxx 00 nnnnn ttttt", kLoad, "Xt < Sn"},                           // LDAPUR
    {"xx 011101 x0 0 xxxxxxxxx 10 nnnnn ttttt", kStore, "< Sn | Vt"},
    {"xx 011101 x1 0 xxxxxxxxx 10 nnnnn ttttt", kLoad, "Vt < Sn"},
    {"xx 111000 101 xxxxx 1 100 00 nnnnn ttttt", kLoad, "Xt < Sn"},  // LDAPR
    // Memory tags. The stored tag lies in the upper bits of a register that may be the stack pointer.
    {"11 011001 01 1 xxxxxxxxx 00 nnnnn ttttt", kLoad, "Xt < Sn Xt"},     // LDG
    {"11 011001 xx 1 xxxxxxxxx 10 nnnnn ttttt", kStore, "< Sn | St"},     // STG, STZG, ST2G, STZ2G
    {"11 011001 xx 1 xxxxxxxxx x1 nnnnn ttttt", kStore, "Sn < Sn | St"},  // with write-back
    // Relative to the program counter. The apparent fourth width is a prefetch.
    {"11 011 0 00 xxxxxxxxxxxxxxxxxxx xxxxx", kNop, "<"},
    {"xx 011 0 00 xxxxxxxxxxxxxxxxxxx ttttt", kLoad, "Xt <"},
    {"11 011 1 00 xxxxxxxxxxxxxxxxxxx xxxxx", kUnknown, "<"},
    {"xx 011 1 00 xxxxxxxxxxxxxxxxxxx ttttt", kLoad, "Vt <"},
    // Pairs. Bit 23 distinguishes offsets from write-back (before or after the access).
    {"11 101 x 0 xx x xxxxxxx xxxxx xxxxx xxxxx", kUnknown, "<"},
    {"xx 101 0 0 x0 0 xxxxxxx uuuuu nnnnn ttttt", kStore, "< Sn | Xt Xu"},
    {"xx 101 0 0 x1 0 xxxxxxx uuuuu nnnnn ttttt", kStore, "Sn < Sn | Xt Xu"},
    {"xx 101 0 0 x0 1 xxxxxxx uuuuu nnnnn ttttt", kLoad, "Xt Xu < Sn"},
    {"xx 101 0 0 x1 1 xxxxxxx uuuuu nnnnn ttttt", kLoad, "Xt Xu | Sn < Sn"},
    {"xx 101 1 0 x0 0 xxxxxxx uuuuu nnnnn ttttt", kStore, "< Sn | Vt Vu"},
    {"xx 101 1 0 x1 0 xxxxxxx uuuuu nnnnn ttttt", kStore, "Sn < Sn | Vt Vu"},
    {"xx 101 1 0 x0 1 xxxxxxx uuuuu nnnnn ttttt", kLoad, "Vt Vu < Sn"},
    {"xx 101 1 0 x1 1 xxxxxxx uuuuu nnnnn ttttt", kLoad, "Vt Vu | Sn < Sn"},
    // Prefetches: unscaled, register, scaled.
    {"11 111 0 00 10 0 xxxxxxxxx 00 xxxxx xxxxx", kNop, "<"},
    {"11 111 0 00 10 1 xxxxx xxxx 10 xxxxx xxxxx", kNop, "<"},
    {"11 111 0 01 10 xxxxxxxxxxxx xxxxx xxxxx", kNop, "<"},
    // These encodings have no instruction: they would extend 32 or 64 bits to 32.
    {"1x 111 0 00 11 0 xxxxxxxxx xx xxxxx xxxxx", kUnknown, "<"},
    {"1x 111 0 00 11 1 xxxxx xxxx 10 xxxxx xxxxx", kUnknown, "<"},
    {"1x 111 0 01 11 xxxxxxxxxxxx xxxxx xxxxx", kUnknown, "<"},
    // Integer registers. LDTR and STTR are like LDUR and STUR. Stores have 00 in bits 23 and 22.
    {"xx 111 0 00 00 0 xxxxxxxxx x0 nnnnn ttttt", kStore, "< Sn | Xt"},
    {"xx 111 0 00 00 0 xxxxxxxxx x1 nnnnn ttttt", kStore, "Sn < Sn | Xt"},
    {"xx 111 0 00 xx 0 xxxxxxxxx x0 nnnnn ttttt", kLoad, "Xt < Sn"},
    {"xx 111 0 00 xx 0 xxxxxxxxx x1 nnnnn ttttt", kLoad, "Xt | Sn < Sn"},
    {"xx 111 0 00 00 1 mmmmm xxxx 10 nnnnn ttttt", kStore, "< Sn Xm | Xt"},
    {"xx 111 0 00 xx 1 mmmmm xxxx 10 nnnnn ttttt", kLoad, "Xt < Sn Xm"},
    {"xx 111 0 01 00 xxxxxxxxxxxx nnnnn ttttt", kStore, "< Sn | Xt"},
    {"xx 111 0 01 xx xxxxxxxxxxxx nnnnn ttttt", kLoad, "Xt < Sn"},
    // Vector registers. Bit 23 selects the fifth width, 128 bits; the other two width bits are then 00.
    {"x1 111 1 0x 1x xxxxxxxxxxxx xxxxx xxxxx", kUnknown, "<"},
    {"1x 111 1 0x 1x xxxxxxxxxxxx xxxxx xxxxx", kUnknown, "<"},
    {"xx 111 1 00 x0 0 xxxxxxxxx 00 nnnnn ttttt", kStore, "< Sn | Vt"},
    {"xx 111 1 00 x0 0 xxxxxxxxx x1 nnnnn ttttt", kStore, "Sn < Sn | Vt"},
    {"xx 111 1 00 x1 0 xxxxxxxxx 00 nnnnn ttttt", kLoad, "Vt < Sn"},
    {"xx 111 1 00 x1 0 xxxxxxxxx x1 nnnnn ttttt", kLoad, "Vt | Sn < Sn"},
    {"xx 111 1 00 x0 1 mmmmm xxxx 10 nnnnn ttttt", kStore, "< Sn Xm | Vt"},
    {"xx 111 1 00 x1 1 mmmmm xxxx 10 nnnnn ttttt", kLoad, "Vt < Sn Xm"},
    {"xx 111 1 01 x0 xxxxxxxxxxxx nnnnn ttttt", kStore, "< Sn | Vt"},
    {"xx 111 1 01 x1 xxxxxxxxxxxx nnnnn ttttt", kLoad, "Vt < Sn"},
    // Atomics (LSE): LDADD, LDCLR, LDEOR, LDSET, the maxima and minima; SWP. Without a result they are STADD and similar ones.
    {"xx 111 0 00 xx 1 sssss 0 xxx 00 nnnnn ttttt", kAtomic, "Xt < Sn | Xs"},
    {"xx 111 0 00 xx 1 sssss 1 000 00 nnnnn ttttt", kAtomic, "Xt < Sn | Xs"},
    // Loads with authentication of the pointer: LDRAA, LDRAB.
    {"11 111 0 00 xx 1 xxxxxxxxx 01 nnnnn ttttt", kLoad, "Xt < Sn"},
    {"11 111 0 00 xx 1 xxxxxxxxx 11 nnnnn ttttt", kLoad, "Xt | Sn < Sn"},
};

}  // namespace

Rows memory_rows() {
  return kMemory;
}

}  // namespace dpubench::cores::a64
