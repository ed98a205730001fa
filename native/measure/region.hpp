// Marks for the tracing plugin that select what it records of a program (docs/cores.md, "Traces"). The instructions do nothing on
// a processor, so a marked kernel can run anywhere. They are also compiler barriers that keep the kernel between the marks.
#pragma once

#include "measure/marks.h"

namespace dpubench::measure {

#if defined(__aarch64__)
#define DPUBENCH_MARK_INSTRUCTION(number) asm volatile("hint %0" : : "i"(number) : "memory")
#elif defined(__alpha__)
#define DPUBENCH_MARK_INSTRUCTION(number) asm volatile("bis $31, %0, $31" : : "I"(number) : "memory")
#elif defined(__x86_64__)
#define DPUBENCH_MARK_INSTRUCTION(number) \
  asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.long %c0" : : "i"(DPUBENCH_NOP_DISPLACEMENT | (number)) : "memory")
#else
#define DPUBENCH_MARK_INSTRUCTION(number) asm volatile("" : : : "memory")
#endif

/// Start the recording. Opening a region within an open one is an error of the capture.
[[gnu::always_inline]] inline void open_region() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_OPEN);
}
/// Stop the recording.
[[gnu::always_inline]] inline void close_region() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_CLOSE);
}
/// Begin the work for the next message. It lasts to the next such mark or the region's end. Outside a region it means nothing.
[[gnu::always_inline]] inline void next_message() {
  DPUBENCH_MARK_INSTRUCTION(DPUBENCH_HINT_MESSAGE);
}

#undef DPUBENCH_MARK_INSTRUCTION

}  // namespace dpubench::measure
