// Fibers: stacks and the switch between them. ucontext would be ten times slower,
// because it makes a system call on each switch.
#include "worker.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

// void metalemu_switch(void** save, void* to): saves the callee-saved registers and the
// stack pointer, then continues where `to` was saved.
#if defined(__x86_64__)
__asm__(R"(
.text
.globl metalemu_switch
.hidden metalemu_switch
.type metalemu_switch,@function
metalemu_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size metalemu_switch,.-metalemu_switch
)");
#elif defined(__aarch64__)
__asm__(R"(
.text
.globl metalemu_switch
.hidden metalemu_switch
.type metalemu_switch,%function
metalemu_switch:
  sub sp,sp,#160
  stp x19,x20,[sp,#0]
  stp x21,x22,[sp,#16]
  stp x23,x24,[sp,#32]
  stp x25,x26,[sp,#48]
  stp x27,x28,[sp,#64]
  stp x29,x30,[sp,#80]
  stp d8,d9,[sp,#96]
  stp d10,d11,[sp,#112]
  stp d12,d13,[sp,#128]
  stp d14,d15,[sp,#144]
  mov x2,sp
  str x2,[x0]
  mov sp,x1
  ldp x19,x20,[sp,#0]
  ldp x21,x22,[sp,#16]
  ldp x23,x24,[sp,#32]
  ldp x25,x26,[sp,#48]
  ldp x27,x28,[sp,#64]
  ldp x29,x30,[sp,#80]
  ldp d8,d9,[sp,#96]
  ldp d10,d11,[sp,#112]
  ldp d12,d13,[sp,#128]
  ldp d14,d15,[sp,#144]
  add sp,sp,#160
  ret
.size metalemu_switch,.-metalemu_switch
)");
#endif

extern "C" void metalemu_switch(void** save, void* to);

namespace emu {

namespace {

constexpr size_t kPage = 4096;
// No power of two, and the tops are staggered: else all stacks share a few cache sets,
// which makes kernels twice as slow.
constexpr size_t kStack = 17 * kPage;
constexpr size_t kStagger = 256;

void fiber_main() {
    Worker* w = this_worker;
    w->launch->kernel->run(&w->current->context);
    park(w);
}

// A stack that metalemu_switch can continue: it "returns" to fiber_main.
void* fresh_stack(char* end) {
    auto top = (uint64_t*)((uintptr_t)end & ~(uintptr_t)15);
#if defined(__x86_64__)
    *--top = 0; // the return address of fiber_main, which never returns
    *--top = (uint64_t)fiber_main;
    for (int i = 0; i < 6; i++)
        *--top = 0;
#elif defined(__aarch64__)
    constexpr int kWords = 20, kLinkRegister = 11;
    top -= kWords;
    memset(top, 0, kWords * sizeof *top);
    top[kLinkRegister] = (uint64_t)fiber_main;
#endif
    return top;
}

void* map_memory(size_t size) {
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

} // namespace

thread_local Worker* this_worker = nullptr;

Worker::Worker() : fibers(kMaxThreads), shared_words(kSharedSpace / 4), shared_bytes(kSharedSpace) {
    stacks = (char*)map_memory(kStack * kMaxThreads);
    for (uint32_t i = 0; i < kMaxThreads; i++) {
        char* stack = stacks + i * kStack;
        mprotect(stack, kPage, PROT_NONE); // overflow faults instead of spoiling a neighbour
        fibers[i].stack_begin = stack + kPage;
        fibers[i].stack_end = stack + kStack - (i % 16) * kStagger;
    }
    shared = (uint8_t*)map_memory(kSharedSpace + kPage);
    mprotect(shared + kSharedSpace, kPage, PROT_NONE);
}

void resume(Worker* w, Fiber* f) {
    w->current = f;
    if (f->state == FiberState::New)
        f->stack_pointer = fresh_stack(f->stack_end);
    f->state = FiberState::Ready;
    metalemu_switch(&w->scheduler_stack_pointer, f->stack_pointer);
    w->current = nullptr;
}

void yield_fiber(Worker* w, Fiber* f) {
    metalemu_switch(&f->stack_pointer, w->scheduler_stack_pointer);
}

void park(Worker* w) {
    w->current->state = FiberState::Done;
    yield_fiber(w, w->current);
    abort(); // a finished fiber is never resumed
}

} // namespace emu
