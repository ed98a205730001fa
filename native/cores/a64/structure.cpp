// Loads and stores of vectors and of their elements: Arm ARM, C4.1.94. Forms with Xm add it to the address afterwards; Xm = 31
// stands for an immediate.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kStructure[] = {
    // Whole vectors: LD1 and ST1 of one to four registers; LD2, LD3, LD4 and their stores.
    {"0 x 001100 00 000000 00x0 xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1 Vt+2 Vt+3"},
    {"0 x 001100 01 000000 00x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 < Sn"},
    {"0 x 001100 10 0 mmmmm 00x0 xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1 Vt+2 Vt+3"},
    {"0 x 001100 11 0 mmmmm 00x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 | Sn < Sn Xm"},
    {"0 x 001100 00 000000 01x0 xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1 Vt+2"},
    {"0 x 001100 01 000000 01x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 < Sn"},
    {"0 x 001100 10 0 mmmmm 01x0 xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1 Vt+2"},
    {"0 x 001100 11 0 mmmmm 01x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 | Sn < Sn Xm"},
    {"0 x 001100 00 000000 10x0 xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1"},
    {"0 x 001100 01 000000 10x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 < Sn"},
    {"0 x 001100 10 0 mmmmm 10x0 xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1"},
    {"0 x 001100 11 0 mmmmm 10x0 xx nnnnn ttttt", kLoad, "Vt Vt+1 | Sn < Sn Xm"},
    {"0 x 001100 00 000000 0111 xx nnnnn ttttt", kStore, "< Sn | Vt"},
    {"0 x 001100 01 000000 0111 xx nnnnn ttttt", kLoad, "Vt < Sn"},
    {"0 x 001100 10 0 mmmmm 0111 xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt"},
    {"0 x 001100 11 0 mmmmm 0111 xx nnnnn ttttt", kLoad, "Vt | Sn < Sn Xm"},
    // One element into all lanes: LD1R to LD4R.
    {"0 x 001101 01 0 00000 110 0 xx nnnnn ttttt", kLoad, "Vt < Sn"},
    {"0 x 001101 11 0 mmmmm 110 0 xx nnnnn ttttt", kLoad, "Vt | Sn < Sn Xm"},
    {"0 x 001101 01 1 00000 110 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 < Sn"},
    {"0 x 001101 11 1 mmmmm 110 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 | Sn < Sn Xm"},
    {"0 x 001101 01 0 00000 111 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 < Sn"},
    {"0 x 001101 11 0 mmmmm 111 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 | Sn < Sn Xm"},
    {"0 x 001101 01 1 00000 111 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 < Sn"},
    {"0 x 001101 11 1 mmmmm 111 0 xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 | Sn < Sn Xm"},
    {"0 x 001101 xx x xxxxx 11x x xx xxxxx xxxxx", kUnknown, "<"},
    // One lane. A load keeps the other lanes.
    {"0 x 001101 00 0 00000 xx0 x xx nnnnn ttttt", kStore, "< Sn | Vt"},
    {"0 x 001101 01 0 00000 xx0 x xx nnnnn ttttt", kLoad, "Vt < Sn Vt"},
    {"0 x 001101 10 0 mmmmm xx0 x xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt"},
    {"0 x 001101 11 0 mmmmm xx0 x xx nnnnn ttttt", kLoad, "Vt | Sn < Sn Xm Vt"},
    {"0 x 001101 00 1 00000 xx0 x xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1"},
    {"0 x 001101 01 1 00000 xx0 x xx nnnnn ttttt", kLoad, "Vt Vt+1 < Sn Vt Vt+1"},
    {"0 x 001101 10 1 mmmmm xx0 x xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1"},
    {"0 x 001101 11 1 mmmmm xx0 x xx nnnnn ttttt", kLoad, "Vt Vt+1 | Sn < Sn Xm Vt Vt+1"},
    {"0 x 001101 00 0 00000 xx1 x xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1 Vt+2"},
    {"0 x 001101 01 0 00000 xx1 x xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 < Sn Vt Vt+1 Vt+2"},
    {"0 x 001101 10 0 mmmmm xx1 x xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1 Vt+2"},
    {"0 x 001101 11 0 mmmmm xx1 x xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 | Sn < Sn Xm Vt Vt+1 Vt+2"},
    {"0 x 001101 00 1 00000 xx1 x xx nnnnn ttttt", kStore, "< Sn | Vt Vt+1 Vt+2 Vt+3"},
    {"0 x 001101 01 1 00000 xx1 x xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 < Sn Vt Vt+1 Vt+2 Vt+3"},
    {"0 x 001101 10 1 mmmmm xx1 x xx nnnnn ttttt", kStore, "Sn < Sn Xm | Vt Vt+1 Vt+2 Vt+3"},
    {"0 x 001101 11 1 mmmmm xx1 x xx nnnnn ttttt", kLoad, "Vt Vt+1 Vt+2 Vt+3 | Sn < Sn Xm Vt Vt+1 Vt+2 Vt+3"},
};

}  // namespace

Rows structure_rows() {
  return kStructure;
}

}  // namespace dpubench::cores::a64
