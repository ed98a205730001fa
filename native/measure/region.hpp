// Marks that a trace of executed instructions is cut by: hint instructions, which do nothing on a processor and are seen by an
// emulator that records. docs/cores.md says who reads them.
#pragma once

namespace dpubench::measure {

// The compiler moves no access to memory across a mark. Arm ARM C6.2.126: unallocated hints execute as NOP; Intel SDM, volume 2,
// NOP: the long form with an address is never accessed.
#if defined(__aarch64__)
inline void open_region() noexcept {
  asm volatile("hint #0x50" ::: "memory");
}
inline void close_region() noexcept {
  asm volatile("hint #0x51" ::: "memory");
}
/// What follows belongs to the next message, or burst of messages.
inline void next_message() noexcept {
  asm volatile("hint #0x52" ::: "memory");
}
#elif defined(__x86_64__)
inline void open_region() noexcept {
  asm volatile("nopl 0x50(%%rax)" ::: "memory");
}
inline void close_region() noexcept {
  asm volatile("nopl 0x51(%%rax)" ::: "memory");
}
/// What follows belongs to the next message, or burst of messages.
inline void next_message() noexcept {
  asm volatile("nopl 0x52(%%rax)" ::: "memory");
}
#else
#error "no mark is known for this architecture"
#endif

}  // namespace dpubench::measure
