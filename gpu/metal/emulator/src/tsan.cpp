// The call-outs that g++ -fsanitize=thread puts before each access of a kernel. They are
// implemented here instead of by the ThreadSanitizer runtime: one mechanism finds races,
// accesses out of bounds and uninitialised threadgroup memory, inside the Go process.
#include "worker.h"
#include <algorithm>

#define CALLER __builtin_return_address(0)

using emu::check_access;

EMU_API void __tsan_init() {}
EMU_API void __tsan_func_entry(void*) {}
EMU_API void __tsan_func_exit() {}
EMU_API void __tsan_vptr_update(void**, void*) {}
EMU_API void __tsan_vptr_read(void**) {}
EMU_API void __tsan_atomic_thread_fence(int order) {
    emu::order_fence(order);
}
EMU_API void __tsan_atomic_signal_fence(int) {}

// Called in each basic block of a checked kernel: a loop without accesses is noticed too.
EMU_API void __sanitizer_cov_trace_pc() {
    emu::check_time();
}

// The compiler tells accesses that it knows to be aligned from those that may be not. What
// it takes apart, such as a vector, comes to __ubsan_handle_type_mismatch_v1.
static void check_aligned(void* p, uint32_t size, bool write, void* pc) {
    emu::check_alignment(p, size < 8 ? size : 8, write ? "write" : "read", pc);
    check_access(p, size, write, false, pc);
}

#define ALIGNED(name, size, write)                                                                           \
    EMU_API void __tsan_##name##size(void* p) {                                                              \
        check_aligned(p, size, write, CALLER);                                                               \
    }
#define ACCESS(name, size, write)                                                                            \
    EMU_API void __tsan_##name##size(void* p) {                                                              \
        check_access(p, size, write, false, CALLER);                                                         \
    }
#define ACCESSES(size)                                                                                       \
    ALIGNED(read, size, false)                                                                               \
    ALIGNED(write, size, true)                                                                               \
    ACCESS(unaligned_read, size, false)                                                                      \
    ACCESS(unaligned_write, size, true)                                                                      \
    ALIGNED(volatile_read, size, false)                                                                      \
    ALIGNED(volatile_write, size, true)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

EMU_API void __tsan_read_range(void* p, unsigned long n) {
    check_access(p, (uint32_t)n, false, false, CALLER);
}

EMU_API void __tsan_write_range(void* p, unsigned long n) {
    check_access(p, (uint32_t)n, true, false, CALLER);
}

// Copies of large structures are calls that g++ does not instrument; kernels are linked
// with --wrap, so they arrive here.
EMU_API void* __wrap_memcpy(void* to, const void* from, unsigned long n) {
    check_access((void*)from, (uint32_t)n, false, false, CALLER);
    check_access(to, (uint32_t)n, true, false, CALLER);
    return memcpy(to, from, n);
}

EMU_API void* __wrap_memmove(void* to, const void* from, unsigned long n) {
    check_access((void*)from, (uint32_t)n, false, false, CALLER);
    check_access(to, (uint32_t)n, true, false, CALLER);
    return memmove(to, from, n);
}

EMU_API void* __wrap_memset(void* to, int value, unsigned long n) {
    check_access(to, (uint32_t)n, true, false, CALLER);
    return memset(to, value, n);
}

// clang calls these by other names.
EMU_API void* __tsan_memcpy(void* to, const void* from, unsigned long n) {
    check_access((void*)from, (uint32_t)n, false, false, CALLER);
    check_access(to, (uint32_t)n, true, false, CALLER);
    return memcpy(to, from, n);
}

EMU_API void* __tsan_memset(void* to, int value, unsigned long n) {
    check_access(to, (uint32_t)n, true, false, CALLER);
    return memset(to, value, n);
}

// Before each atomic other threads may run. A read-modify-write counts as an atomic read
// and an atomic write.
#define MODIFY(bits, T, name)                                                                                \
    EMU_API T __tsan_atomic##bits##_##name(volatile T* p, T v, int order) {                                  \
        emu::switch_point();                                                                                 \
        check_access((void*)p, bits / 8, false, true, CALLER);                                               \
        check_access((void*)p, bits / 8, true, true, CALLER);                                                \
        emu::order_atomic(p, order, true, true);                                                             \
        return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                                      \
    }
#define __atomic_exchange(p, v, order) __atomic_exchange_n(p, v, order)
#define COMPARE_EXCHANGE(bits, T, name, weak)                                                                \
    EMU_API int __tsan_atomic##bits##_compare_exchange_##name(volatile T* p, T* expected, T v, int order,    \
                                                              int) {                                         \
        emu::switch_point();                                                                                 \
        check_access((void*)p, bits / 8, false, true, CALLER);                                               \
        check_access((void*)p, bits / 8, true, true, CALLER);                                                \
        emu::order_atomic(p, order, true, true);                                                             \
        if (weak && emu::fails_spuriously()) {                                                               \
            *expected = __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                \
            return 0;                                                                                        \
        }                                                                                                    \
        return __atomic_compare_exchange_n(p, expected, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
    }
#define ATOMICS(bits, T)                                                                                     \
    EMU_API T __tsan_atomic##bits##_load(const volatile T* p, int order) {                                   \
        emu::switch_point();                                                                                 \
        check_access((void*)p, bits / 8, false, true, CALLER);                                               \
        emu::order_atomic(p, order, true, false);                                                            \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                        \
    EMU_API void __tsan_atomic##bits##_store(volatile T* p, T v, int order) {                                \
        emu::switch_point();                                                                                 \
        check_access((void*)p, bits / 8, true, true, CALLER);                                                \
        emu::order_atomic(p, order, false, true);                                                            \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                            \
    }                                                                                                        \
    MODIFY(bits, T, exchange)                                                                                \
    MODIFY(bits, T, fetch_add)                                                                               \
    MODIFY(bits, T, fetch_sub)                                                                               \
    MODIFY(bits, T, fetch_and)                                                                               \
    MODIFY(bits, T, fetch_or)                                                                                \
    MODIFY(bits, T, fetch_xor)                                                                               \
    COMPARE_EXCHANGE(bits, T, strong, false)                                                                 \
    COMPARE_EXCHANGE(bits, T, weak, true)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

// Where the compiler's own checks stand in the text.
struct Site {
    const char* file;
    uint32_t line, column;
};

// A value of some type used at an address that is no multiple of its alignment.
struct TypeMismatch {
    Site site;
    const void* type;
    uint8_t log_alignment, kind;
};

EMU_API void __ubsan_handle_type_mismatch_v1(const TypeMismatch* data, void* address) {
    constexpr uint64_t kMost = 16; // more than any Metal device asks for
    emu::check_alignment(address, std::min(kMost, (uint64_t)1 << data->log_alignment), "use of a value",
                         CALLER);
}

// Divisions: by zero, and the least integer by -1. The result is unspecified in MSL, and
// the host would trap.
EMU_API void __ubsan_handle_divrem_overflow(const Site* site, unsigned long, unsigned long divisor) {
    emu::Worker* w = emu::this_worker;
    const char* what = divisor ? "division of the least integer by -1" : "division by zero";
    emu::fail(
        w, "division",
        emu::format("%s, %s at program_source:%u", what, emu::describe(w->current).c_str(), site->line));
    emu::park(w);
}
