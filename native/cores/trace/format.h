/* Words of a trace: what the plugin writes and the reader reads. C, for the plugin is. docs/cores.md has the whole format. */
#ifndef DPUBENCH_TRACE_FORMAT_H
#define DPUBENCH_TRACE_FORMAT_H

#include "../../measure/marks.h"

#define DPUBENCH_TRACE_MAGIC "dpubtrac"
#define DPUBENCH_TRACE_VERSION 2

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

/* Mark: its kind in the low byte; the end mark has the number of executed instructions above. */
enum dpubench_mark { DPUBENCH_MARK_OPEN = 0, DPUBENCH_MARK_CLOSE = 1, DPUBENCH_MARK_MESSAGE = 2, DPUBENCH_MARK_END = 3 };
#define DPUBENCH_MARK_SHIFT 8

/* A trace is a folder with these files, all integers little-endian. Each is a row of zstd frames (RFC 8878), all with a checksum and of
   at most DPUBENCH_TRACE_FRAME_BYTES of content, so that a reader that stops early has checked what it read.
   `blocks`: the magic, the version (32 bits), then four texts, each its length in bytes (32 bits) and UTF-8: architecture, kernel, CPU
   model, digest of the program file. Then blocks in order of their numbers: number (32 bits), how many instructions (32), address of
   the first (64), the instruction words (32 each). Behind the last one DPUBENCH_NO_BLOCK and how many there were (32 each).
   `stream`: the magic, the version (64 bits), then words of 64 bits. */
#define DPUBENCH_TRACE_BLOCKS "blocks"
#define DPUBENCH_TRACE_STREAM "stream"
#define DPUBENCH_TRACE_FRAME_BYTES (1U << 20)
#define DPUBENCH_NO_BLOCK 0xffffffffU
#define DPUBENCH_BLOCK_INSTRUCTIONS 1024U

/* How far a capture came, for whoever started it to tell what a program that crashed was doing: a third file, not compressed, that goes
   when the trace is finished. Two integers of 64 bits: the state, and messages begun. */
#define DPUBENCH_TRACE_PROGRESS "progress"
enum dpubench_progress { DPUBENCH_BEFORE_REGION = 0, DPUBENCH_IN_REGION = 1, DPUBENCH_AFTER_REGION = 2, DPUBENCH_CAPTURE_FAILED = 3 };

/* A count of instructions (plugin/count.c) is such a file alone, under this name: state and messages as above, then instructions that
   were executed in regions, and regions. */
#define DPUBENCH_COUNT "count"
enum dpubench_count {
  DPUBENCH_COUNT_STATE,
  DPUBENCH_COUNT_MESSAGES,
  DPUBENCH_COUNT_INSTRUCTIONS,
  DPUBENCH_COUNT_REGIONS,
  DPUBENCH_COUNT_WORDS
};

#endif
