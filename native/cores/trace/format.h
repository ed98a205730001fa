/* Words of a trace: what the plugin writes and the reader reads. C, for the plugin is. docs/cores.md has the whole format. */
#ifndef DPUBENCH_TRACE_FORMAT_H
#define DPUBENCH_TRACE_FORMAT_H

#define DPUBENCH_TRACE_MAGIC "dpubtrac"
#define DPUBENCH_TRACE_VERSION 1

/* Bits 63 and 62 of a word of the stream: 0 a block begins, 2 an access, 3 a mark. */
#define DPUBENCH_WORD_ACCESS (1ULL << 63)
#define DPUBENCH_WORD_MARK (3ULL << 62)

/* Access: virtual address, index of the instruction in its block, log2 of the bytes, whether it stores. */
#define DPUBENCH_ADDRESS_BITS 48
#define DPUBENCH_INDEX_SHIFT 48
#define DPUBENCH_INDEX_MASK 0x3ffU
#define DPUBENCH_SIZE_SHIFT 58
#define DPUBENCH_SIZE_MASK 0x7U
#define DPUBENCH_STORE_SHIFT 61

/* Mark: its kind in the low byte; kMarkEnd has the number of executed instructions above. */
enum dpubench_mark { DPUBENCH_MARK_OPEN = 0, DPUBENCH_MARK_CLOSE = 1, DPUBENCH_MARK_MESSAGE = 2, DPUBENCH_MARK_END = 3 };
#define DPUBENCH_MARK_SHIFT 8

/* Hint instructions of aarch64 that mark regions: `hint #0x50` and so on; no-ops on every processor (Arm ARM, C6.2.126). */
#define DPUBENCH_HINT_OPEN 0x50
#define DPUBENCH_HINT_CLOSE 0x51
#define DPUBENCH_HINT_MESSAGE 0x52

#endif
