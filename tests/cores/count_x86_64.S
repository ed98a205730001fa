# What the counting plugin has to count, for x86-64 (native/measure/region.hpp): CASE 0 a loop, 1 repeated string instructions,
# 2 a region that is never closed, 3 no region, 4 a region within a region.
.macro mark number
  .byte 0x0f, 0x1f, 0x80
  .long 0x75706400 | \number
.endm
.set OPEN, 0x50
.set CLOSE, 0x51
.set MESSAGE, 0x52

.bss
from: .skip 4096
to: .skip 4096

.text
.globl _start
_start:
  mov $100, %ecx           # outside: not counted
1: dec %ecx
  jnz 1b
.if CASE == 0
  mark OPEN
  mov $1000, %ecx          # 1
2: mark MESSAGE
  add $3, %eax             # 1000 times 4
  xor %edx, %edx
  dec %ecx
  jnz 2b
  mark CLOSE
.elseif CASE == 1
  mov $10, %ebx
  mark OPEN
3: lea from(%rip), %rsi    # 10 times 9
  lea to(%rip), %rdi
  mov $4096, %ecx
  rep movsb                # one instruction, whatever is moved
  lea to(%rip), %rdi
  mov $512, %ecx
  rep stosq
  dec %ebx
  jnz 3b
  xor %ecx, %ecx           # 1
  rep movsb                # 1: nothing is moved
  mark CLOSE
.elseif CASE == 2
  mark OPEN
.elseif CASE == 4
  mark OPEN
  mark OPEN
.endif
  mov $60, %eax            # exit(0)
  xor %edi, %edi
  syscall
