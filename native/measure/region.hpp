// Marks for the tracing plugin what of a program it records (docs/cores.md, "Traces"). Instructions that do nothing on a
// processor, so that a marked kernel may run anywhere; and barriers for the compiler, so that the kernel stays between them.
#pragma once

#include "measure/marks.h"

namespace dpubench::measure {

#if defined(__aarch64__)
#define DPUBENCH_MARK_INSTRUCTION(number) asm volatile("hint %0" : : "i"(number) : "memory")
#elif defined(__x86_64__)
#define DPUBENCH_MARK_INSTRUCTION(number) \
  asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(DPUBENCH_NOP_DISPLACEMENT | (number)) : "memory")
#else
#define DPUBENCH_MARK_INSTRUCTION(number) asm volatile("" : : : "memory")
#endif

/// What follows is recorded. A region that is opened within one is an error of the capture.
[[gnu::always_inline]] inline void open_region() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_OPEN);
}
/// What follows is not recorded.
[[gnu::always_inline]] inline void close_region() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_CLOSE);
}
/// What follows, up to the next of these or the region's end, is work for the next message. Outside a region it means nothing.
[[gnu::always_inline]] inline void next_message() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_MESSAGE);
}

#undef DPUBENCH_MARK_INSTRUCTION

}  // namespace dpubench::measure
