// objc_msgSend. It saves the argument registers, asks for the implementation and
// jumps to it: the method sees the caller's registers and stack as they were, so
// structures on the stack, floating-point arguments and x8 need no care.
#include "objc.h"

#if defined(__x86_64__)
__asm__(R"(
.text
.globl objc_msgSend
.type objc_msgSend,@function
objc_msgSend:
  test %rdi,%rdi
  jz 1f
  push %rbp
  mov %rsp,%rbp
  sub $192,%rsp
  mov %rdi,0(%rsp)
  mov %rsi,8(%rsp)
  mov %rdx,16(%rsp)
  mov %rcx,24(%rsp)
  mov %r8,32(%rsp)
  mov %r9,40(%rsp)
  mov %rax,48(%rsp)
  movups %xmm0,64(%rsp)
  movups %xmm1,80(%rsp)
  movups %xmm2,96(%rsp)
  movups %xmm3,112(%rsp)
  movups %xmm4,128(%rsp)
  movups %xmm5,144(%rsp)
  movups %xmm6,160(%rsp)
  movups %xmm7,176(%rsp)
  call metalemu_find_implementation@PLT
  mov %rax,%r11
  mov 0(%rsp),%rdi
  mov 8(%rsp),%rsi
  mov 16(%rsp),%rdx
  mov 24(%rsp),%rcx
  mov 32(%rsp),%r8
  mov 40(%rsp),%r9
  mov 48(%rsp),%rax
  movups 64(%rsp),%xmm0
  movups 80(%rsp),%xmm1
  movups 96(%rsp),%xmm2
  movups 112(%rsp),%xmm3
  movups 128(%rsp),%xmm4
  movups 144(%rsp),%xmm5
  movups 160(%rsp),%xmm6
  movups 176(%rsp),%xmm7
  leave
  jmp *%r11
1:
  sub $8,%rsp
  mov %rsi,%rdi
  call metalemu_message_to_nil@PLT
  add $8,%rsp
  xor %eax,%eax
  xor %edx,%edx
  xorps %xmm0,%xmm0
  ret
.size objc_msgSend,.-objc_msgSend
)");
#elif defined(__aarch64__)
__asm__(R"(
.text
.globl objc_msgSend
.type objc_msgSend,%function
objc_msgSend:
  cbz x0,1f
  stp x29,x30,[sp,#-16]!
  mov x29,sp
  sub sp,sp,#208
  stp x0,x1,[sp,#0]
  stp x2,x3,[sp,#16]
  stp x4,x5,[sp,#32]
  stp x6,x7,[sp,#48]
  str x8,[sp,#64]
  stp q0,q1,[sp,#80]
  stp q2,q3,[sp,#112]
  stp q4,q5,[sp,#144]
  stp q6,q7,[sp,#176]
  bl metalemu_find_implementation
  mov x16,x0
  ldp x0,x1,[sp,#0]
  ldp x2,x3,[sp,#16]
  ldp x4,x5,[sp,#32]
  ldp x6,x7,[sp,#48]
  ldr x8,[sp,#64]
  ldp q0,q1,[sp,#80]
  ldp q2,q3,[sp,#112]
  ldp q4,q5,[sp,#144]
  ldp q6,q7,[sp,#176]
  add sp,sp,#208
  ldp x29,x30,[sp],#16
  br x16
1:
  stp x29,x30,[sp,#-16]!
  mov x0,x1
  bl metalemu_message_to_nil
  ldp x29,x30,[sp],#16
  mov x0,#0
  mov x1,#0
  fmov d0,xzr
  ret
.size objc_msgSend,.-objc_msgSend
)");
#else
#error "the emulator knows the calling conventions of x86-64 and arm64 only"
#endif
