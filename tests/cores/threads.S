// A thread that counts for ever beside the region, whose 1000 messages have 4 instructions each; and one more in front and behind.
.arch armv8.1-a
.globl _start
_start:
    mov x0, #0x0f00         // CLONE_VM, _FS, _FILES, _SIGHAND,
    movk x0, #5, lsl #16    // _THREAD, _SYSVSEM
    adrp x1, stack + 4096
    mov x8, #220            // clone
    adrp x20, counter
    mov x21, #1
    svc #0
    cbz x0, other
1:  ldr x2, [x20]           // until it runs
    cbz x2, 1b
    mov x1, #1000
    hint #0x50
    nop
2:  hint #0x52
    ldadd x21, x3, [x20]
    ldr x3, [x20]
    subs x1, x1, #1
    b.ne 2b
    nop
    hint #0x51
    mov x0, #0
    mov x8, #94             // exit_group
    svc #0
other:
    ldadd x21, x3, [x20]
    b other
.bss
.balign 4096
counter: .skip 4096
stack: .skip 8192
