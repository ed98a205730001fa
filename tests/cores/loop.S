// 1000 messages of four additions each. In the region: 1 instruction, 1000 times 4, 2, and 1 at its end, behind a marker that a jump leads to.
.globl _start
_start:
    mov x1, #1000
    hint #0x52          // a message outside any region, which counts for nothing
    add x5, x5, #1
    hint #0x50
    mov x0, #0
1:  hint #0x52
    add x0, x0, #1
    add x0, x0, #1
    add x0, x0, #1
    add x0, x0, #1
    subs x1, x1, #1
    b.ne 1b
    nop
    hint #0x51
    nop
    mov x0, #0
    mov x8, #93         // exit
    svc #0
