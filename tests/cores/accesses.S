// One instruction of every way to access memory, once each, and what the emulator reports of it. The region has 27 of them.
.arch armv8.5-a+lse+crypto
.globl _start
_start:
    adrp x20, data
    add x20, x20, :lo12:data
    adr x21, end
    hint #0x50
    ldp x1, x2, [x20]                   // 16 bytes loaded
    stp x1, x2, [x20, #16]              // 16 bytes stored
    ldp q0, q1, [x20, #32]              // 32 bytes loaded
    ldr q2, [x20]                       // 16 bytes loaded
    ld4 {v0.16b-v3.16b}, [x20]          // 64 bytes loaded
    ld1 {v0.16b-v2.16b}, [x20]          // 48 bytes loaded, in two pieces
    st1 {v0.b}[3], [x20]                // 1 byte stored
    ld1r {v0.4s}, [x20]                 // 4 bytes loaded
    str b0, [x20], #1                   // 1 byte stored
    sub x20, x20, #1
    ldadd x1, x2, [x20]                 // from here on atomics load and store: 8 bytes each
    swp w1, w2, [x20]                   // 4 each
    cas x1, x2, [x20]                   // 8 each, whether they are swapped or not
    caspal x2, x3, x4, x5, [x20]        // 16 each
    ldxr x3, [x20]                      // 8 bytes loaded
    stxr w4, x3, [x20]                  // 8 each
    ldaxp x3, x5, [x20]                 // 16 bytes loaded
    stlxp w4, x3, x5, [x20]             // 16 each
    ldar x3, [x20]                      // 8 bytes loaded
    stlr x3, [x20]                      // 8 bytes stored
    dc zva, x20                         // not reported
    prfm pldl1keep, [x20]               // no access
    bl call                             // 4 instructions with what follows
    br x21
call:
    str x30, [x20]                      // 8 bytes stored
    ldr x30, [x20]                      // 8 bytes loaded
    ret
end:
    hint #0x51
    mov x0, #0
    mov x8, #93
    svc #0
.data
.balign 128
data: .skip 256
