// Scalar floating point: Arm ARM, C4.1.96.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kFloatRows[] = {
    {"00011111 xx x mmmmm x aaaaa nnnnn ddddd", kFloat, "Vd < Vn Vm Va"},  // FMADD and similar ones
    // From and to fixed point.
    {"x 0011110 xx 0 00 01x xxxxxx nnnnn ddddd", kFloat, "Vd < Xn"},
    {"x 0011110 xx 0 11 00x xxxxxx nnnnn ddddd", kFloat, "Xd < Vn"},
    // From and to integers; moves between the register files.
    {"x 0011110 xx 1 xx 00x 000000 nnnnn ddddd", kFloat, "Xd < Vn"},          // FCVTNS, FCVTPS, FCVTMS, FCVTZS
    {"x 0011110 xx 1 00 01x 000000 nnnnn ddddd", kFloat, "Vd < Xn"},          // SCVTF, UCVTF
    {"x 0011110 xx 1 00 10x 000000 nnnnn ddddd", kFloat, "Xd < Vn"},          // FCVTAS, FCVTAU
    {"0 0011110 01 1 11 110 000000 nnnnn ddddd", kFloat, "Xd F < Vn"},        // FJCVTZS
    {"x 0011110 xx 1 0x 110 000000 nnnnn ddddd", kSimd, "Xd < Vn"},           // FMOV
    {"x 0011110 xx 1 00 111 000000 nnnnn ddddd", kSimd, "Vd < Xn"},           // FMOV
    {"1 0011110 10 1 01 111 000000 nnnnn ddddd", kSimd, "Vd < Vd Xn"},        // FMOV into the upper half
    {"00011110 xx 1 000011 10000 nnnnn ddddd", kFloatDivide, "Vd < Vn"},      // FSQRT
    {"00011110 xx 1 xxxxxx 10000 nnnnn ddddd", kFloat, "Vd < Vn"},            // FMOV, FABS, FNEG, FCVT, FRINT
    {"00011110 xx 1 xxxxx 001000 nnnnn x1000", kFloat, "F < Vn"},             // FCMP with zero
    {"00011110 xx 1 mmmmm 001000 nnnnn x0000", kFloat, "F < Vn Vm"},          // FCMP
    {"00011110 xx 1 xxxxxxxx 100 00000 ddddd", kFloat, "Vd <"},               // FMOV of an immediate
    {"00011110 xx 1 mmmmm xxxx 01 nnnnn x xxxx", kFloat, "F < Vn Vm F"},      // FCCMP
    {"00011110 xx 1 mmmmm 0001 10 nnnnn ddddd", kFloatDivide, "Vd < Vn Vm"},  // FDIV
    {"00011110 xx 1 mmmmm 0xxx 10 nnnnn ddddd", kFloat, "Vd < Vn Vm"},        // FMUL, FADD, FSUB, FMAX, FMIN
    {"00011110 xx 1 mmmmm 1000 10 nnnnn ddddd", kFloat, "Vd < Vn Vm"},        // FNMUL
    {"00011110 xx 1 mmmmm xxxx 11 nnnnn ddddd", kFloat, "Vd < Vn Vm F"},      // FCSEL
};

}  // namespace

Rows float_rows() {
  return kFloatRows;
}

}  // namespace dpubench::cores::a64
