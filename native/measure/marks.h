/* Numbers of the hint instructions that mark what of a program is traced. C, for a plugin of an emulator reads them too. */
#ifndef DPUBENCH_MARKS_H
#define DPUBENCH_MARKS_H

#include <stdint.h>

/* Hint instructions of aarch64 that mark regions: `hint #0x50` and so on; no-ops on every processor (Arm ARM, C6.2.126). */
#define DPUBENCH_HINT_OPEN 0x50
#define DPUBENCH_HINT_CLOSE 0x51
#define DPUBENCH_HINT_MESSAGE 0x52

/* The same on Alpha: BIS $31, #number, $31, one of its no-ops (Alpha Architecture Handbook, 4.11.3 and A.4.4). */
#define DPUBENCH_ALPHA_MARK(number) (0x47e0041fU | 1U << 12 | (uint32_t)(number) << 13)

/* The same on x86-64: NOPL (Intel SDM volume 2, NOP) with a displacement of 32 bits, "dpu" and the number of the mark. */
#define DPUBENCH_NOP_OPCODE "\x0f\x1f\x80"
#define DPUBENCH_NOP_DISPLACEMENT 0x75706400

#endif
