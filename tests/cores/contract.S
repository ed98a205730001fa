// Speaks the contract of dpubench-operators as far as a capture needs it: --list prints the file `hello`; else it reads its job, sums the
// job's bytes in a region, a message for each byte, and prints the file `events`. What goes wrong in it, by the value of CASE.
.globl _start
_start:
    ldr x0, [sp]                    // argc: the loader has taken its own arguments away
    cmp x0, #1
    b.gt list
    adrp x19, job
    add x19, x19, :lo12:job
    mov x20, #0                     // bytes read
1:  mov x0, #0
    add x1, x19, x20
    mov x2, #4096
    mov x8, #63                     // read
    svc #0
    cmp x0, #0
    b.le 2f
    add x20, x20, x0
    b 1b
2:
.if CASE == 1                       // says that its verification failed, and fails
    b report
.elseif CASE == 2                   // crashes
    mov x0, #0
    ldr x0, [x0]
.endif
    hint #0x50
3:  hint #0x52
    subs x20, x20, #1
    ldrb w1, [x19, x20]
    add x2, x2, x1
    str x2, [sp, #-16]              // where the stack is depends on arguments, environment and the program's path
    b.ne 3b
.if CASE == 5                       // never ends
    b .
.endif
    hint #0x51
report:
    adrp x1, events
    add x1, x1, :lo12:events
    adrp x2, events_end
    add x2, x2, :lo12:events_end
    b say
list:
    adrp x1, hello
    add x1, x1, :lo12:hello
    adrp x2, hello_end
    add x2, x2, :lo12:hello_end
say:
    sub x20, x2, x1
    mov x19, x1
4:  mov x0, #1
    mov x1, x19
    mov x2, x20
    mov x8, #64                     // write
    svc #0
    add x19, x19, x0
    subs x20, x20, x0
    b.ne 4b
.if CASE == 1
    mov x0, #4
.else
    mov x0, #0
.endif
    mov x8, #93                     // exit
    svc #0
.section .rodata
hello: .incbin "hello"
hello_end:
events: .incbin "events"
events_end:
.bss
job: .skip 0x10000
