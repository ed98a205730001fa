// Programs that go wrong, one for each value of CASE.
.globl _start
_start:
.if CASE == 1                           // crashes in a region, in its second message
    hint #0x50
    hint #0x52
    hint #0x52
    mov x0, #0
    ldr x0, [x0]
    hint #0x51
.elseif CASE == 2                       // crashes before one
    mov x0, #0
    ldr x0, [x0]
.elseif CASE == 3                       // never opens one
    nop
.elseif CASE == 4                       // never closes it
    hint #0x50
    nop
.elseif CASE == 5                       // opens it twice
    hint #0x50
    nop
    hint #0x50
.elseif CASE == 6                       // closes what is not open
    hint #0x51
.elseif CASE == 7                       // never ends
    hint #0x50
    hint #0x52
    b .
.elseif CASE == 8                       // fails
    hint #0x50
    nop
    hint #0x51
    mov x0, #3
    mov x8, #93
    svc #0
.elseif CASE == 9                       // writes where no one can foresee, two million times: a trace that does not compress
    adrp x2, data
    mov x1, #0x8480
    movk x1, #0x1e, lsl #16
    mov x4, #0x7f2d
    movk x4, #0x4c95, lsl #16
    movk x4, #0xf42d, lsl #32
    movk x4, #0x5851, lsl #48
    hint #0x50
1:  madd x3, x3, x4, x4
    lsr x5, x3, #48
    str x5, [x2, x5]
    subs x1, x1, #1
    b.ne 1b
    hint #0x51
.endif
    mov x0, #0
    mov x8, #93
    svc #0
.bss
.balign 4096
data: .skip 0x11000
