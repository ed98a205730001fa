// Data processing with immediates and with registers: Arm ARM, C4.1.92 and C4.1.95.
#include "cores/a64/row.hpp"

namespace dpubench::cores::a64 {

namespace {

using enum Kind;

constexpr Row kImmediate[] = {
    {"x xx 10000 xxxxxxxxxxxxxxxxxxx ddddd", kInteger, "Xd <"},  // ADR, ADRP
    {"x x 0 100010 x xxxxxxxxxxxx nnnnn ddddd", kInteger, "Sd < Sn"},
    {"x x 1 100010 x xxxxxxxxxxxx nnnnn ddddd", kInteger, "Xd F < Sn"},    // ADDS, SUBS, CMP
    {"1 x 0 100011 0 xxxxxxxxxxxx nnnnn ddddd", kInteger, "Sd < Sn"},      // ADDG, SUBG
    {"x 0 0 100011 1 00xx xxxxxxxx nnnnn ddddd", kInteger, "Xd < Xn"},     // SMAX, SMIN, UMAX, UMIN
    {"x 11 100100 x xxxxxx xxxxxx nnnnn ddddd", kInteger, "Xd F < Xn"},    // ANDS, TST
    {"x xx 100100 x xxxxxx xxxxxx nnnnn ddddd", kInteger, "Sd < Xn"},      // AND, ORR, EOR
    {"x x0 100101 xx xxxxxxxxxxxxxxxx ddddd", kInteger, "Xd <"},           // MOVN, MOVZ
    {"x 11 100101 xx xxxxxxxxxxxxxxxx ddddd", kInteger, "Xd < Xd"},        // MOVK
    {"x 01 100110 x xxxxxx xxxxxx nnnnn ddddd", kInteger, "Xd < Xd Xn"},   // BFM
    {"x x0 100110 x xxxxxx xxxxxx nnnnn ddddd", kInteger, "Xd < Xn"},      // SBFM, UBFM
    {"x 00 100111 x 0 mmmmm xxxxxx nnnnn ddddd", kInteger, "Xd < Xn Xm"},  // EXTR
};

constexpr Row kRegister[] = {
    {"x 11 01010 xx x mmmmm xxxxxx nnnnn ddddd", kInteger, "Xd F < Xn Xm"},  // ANDS, BICS
    {"x xx 01010 xx x mmmmm xxxxxx nnnnn ddddd", kInteger, "Xd < Xn Xm"},    // AND, BIC, ORR, ORN, EOR, EON
    {"x x 0 01011 xx 0 mmmmm xxxxxx nnnnn ddddd", kInteger, "Xd < Xn Xm"},
    {"x x 1 01011 xx 0 mmmmm xxxxxx nnnnn ddddd", kInteger, "Xd F < Xn Xm"},
    // Extended register: the first operand may be the stack pointer.
    {"x x 0 01011 00 1 mmmmm xxx xxx nnnnn ddddd", kInteger, "Sd < Sn Xm"},
    {"x x 1 01011 00 1 mmmmm xxx xxx nnnnn ddddd", kInteger, "Xd F < Sn Xm"},
    {"x x 0 11010000 mmmmm 000000 nnnnn ddddd", kInteger, "Xd < Xn Xm F"},    // ADC, SBC
    {"x x 1 11010000 mmmmm 000000 nnnnn ddddd", kInteger, "Xd F < Xn Xm F"},  // ADCS, SBCS
    {"1 x 0 11010000 mmmmm 001 xxx nnnnn ddddd", kInteger, "Sd < Sn Xm"},     // ADDPT, SUBPT
    {"1 0 1 11010000 xxxxxx 00001 nnnnn 0 xxxx", kInteger, "F < Xn F"},       // RMIF
    {"0 0 1 11010000 000000 x 0010 nnnnn 0 1101", kInteger, "F < Xn F"},      // SETF8, SETF16
    {"x x 1 11010010 mmmmm xxxx 00 nnnnn 0 xxxx", kInteger, "F < Xn Xm F"},   // CCMN, CCMP
    {"x x 1 11010010 xxxxx xxxx 10 nnnnn 0 xxxx", kInteger, "F < Xn F"},      // with an immediate
    {"x x 0 11010100 mmmmm xxxx 0x nnnnn ddddd", kInteger, "Xd < Xn Xm F"},   // CSEL and similar ones
    // Three sources.
    {"x 00 11011 000 mmmmm x aaaaa nnnnn ddddd", kMultiply, "Xd < Xn Xm Xa"},  // MADD, MSUB
    {"1 00 11011 011 mmmmm x aaaaa nnnnn ddddd", kMultiply, "Xd < Xn Xm Xa"},  // MADDPT, MSUBPT
    {"1 00 11011 x01 mmmmm x aaaaa nnnnn ddddd", kMultiply, "Xd < Xn Xm Xa"},  // SMADDL and similar ones
    {"1 00 11011 x10 mmmmm 0 xxxxx nnnnn ddddd", kMultiply, "Xd < Xn Xm"},     // SMULH, UMULH
    // Two sources.
    {"x 0 0 11010110 mmmmm 00001x nnnnn ddddd", kDivide, "Xd < Xn Xm"},
    {"x 0 0 11010110 mmmmm 0010xx nnnnn ddddd", kInteger, "Xd < Xn Xm"},    // LSLV, LSRV, ASRV, RORV
    {"x 0 0 11010110 mmmmm 010xxx nnnnn ddddd", kCrc, "Xd < Xn Xm"},        // CRC32, CRC32C
    {"x 0 0 11010110 mmmmm 0110xx nnnnn ddddd", kInteger, "Xd < Xn Xm"},    // SMAX, SMIN, UMAX, UMIN
    {"1 0 0 11010110 mmmmm 000000 nnnnn ddddd", kInteger, "Xd < Sn Sm"},    // SUBP
    {"1 0 1 11010110 mmmmm 000000 nnnnn ddddd", kInteger, "Xd F < Sn Sm"},  // SUBPS
    {"1 0 0 11010110 mmmmm 000100 nnnnn ddddd", kInteger, "Sd < Sn Xm"},    // IRG
    {"1 0 0 11010110 mmmmm 000101 nnnnn ddddd", kInteger, "Xd < Sn Xm"},    // GMI
    {"1 0 0 11010110 mmmmm 001100 nnnnn ddddd", kInteger, "Xd < Xn Sm"},    // PACGA
    // One source.
    {"x 1 0 11010110 00000 000xxx nnnnn ddddd", kInteger, "Xd < Xn"},     // RBIT, REV, CLZ, CLS, CTZ, CNT
    {"x 1 0 11010110 00000 001000 nnnnn ddddd", kInteger, "Xd < Xn"},     // ABS
    {"1 1 0 11010110 00001 000xxx nnnnn ddddd", kInteger, "Xd < Xd Sn"},  // PACIA, AUTIA and similar ones
    {"1 1 0 11010110 00001 001xxx 11111 ddddd", kInteger, "Xd < Xd"},     // PACIZA
    {"1 1 0 11010110 00001 01000x 11111 ddddd", kInteger, "Xd < Xd"},     // XPACI, XPACD
};

}  // namespace

Rows immediate_rows() {
  return kImmediate;
}
Rows register_rows() {
  return kRegister;
}

}  // namespace dpubench::cores::a64
