// What NVRTC declares by itself, for g++: a block is run by the fibers of one host thread (see software.cpp).
#include <cstring>
#include <utility>
#define __device__
#define __global__
#define __shared__ static thread_local
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __CUDA_ARCH__ 900

struct uint3 { unsigned x, y, z; };
extern "C" __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

// Collectives: the lanes of a warp, or the threads of a block, meet; the last to come sees what all brought.
extern "C" void software_block();
extern "C" const unsigned* software_warp(unsigned value, unsigned* present);

static inline unsigned lane() { return threadIdx.x & 31u; }
static inline void __syncthreads() { software_block(); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }
static inline void __syncwarp(unsigned) { unsigned p; software_warp(0, &p); }
static inline unsigned from(unsigned v, unsigned l) {
    unsigned present;
    const unsigned* all = software_warp(v, &present);
    return l < 32u && (present >> l & 1u) != 0u ? all[l] : v;
}
static inline unsigned __shfl_sync(unsigned, unsigned v, int l) { return from(v, (unsigned)l & 31u); }
static inline unsigned __shfl_up_sync(unsigned, unsigned v, unsigned d) { return from(v, lane() >= d ? lane() - d : lane()); }
static inline unsigned __shfl_down_sync(unsigned, unsigned v, unsigned d) { return from(v, lane() + d); }
static inline unsigned __shfl_xor_sync(unsigned, unsigned v, int d) { return from(v, lane() ^ (unsigned)d); }

template <class T, class F> static inline T reduce(T v, F f) {
    unsigned present, bits;
    memcpy(&bits, &v, 4);
    const unsigned* all = software_warp(bits, &present);
    bool first = true;
    T r = v;
    for (unsigned l = 0; l < 32; l++) {
        if ((present >> l & 1u) == 0u) continue;
        T x;
        memcpy(&x, &all[l], 4);
        r = first ? x : f(r, x);
        first = false;
    }
    return r;
}
#define REDUCE(T)                                                                                                      \
    static inline T __reduce_add_sync(unsigned, T v) { return reduce(v, [](T a, T b) { return a + b; }); }             \
    static inline T __reduce_min_sync(unsigned, T v) { return reduce(v, [](T a, T b) { return b < a ? b : a; }); }     \
    static inline T __reduce_max_sync(unsigned, T v) { return reduce(v, [](T a, T b) { return a < b ? b : a; }); }
REDUCE(int)
REDUCE(unsigned)
static inline unsigned __reduce_and_sync(unsigned, unsigned v) { return reduce(v, [](unsigned a, unsigned b) { return a & b; }); }
static inline unsigned __reduce_or_sync(unsigned, unsigned v) { return reduce(v, [](unsigned a, unsigned b) { return a | b; }); }
static inline unsigned __reduce_xor_sync(unsigned, unsigned v) { return reduce(v, [](unsigned a, unsigned b) { return a ^ b; }); }
static inline unsigned __ballot_sync(unsigned, int b) { return __reduce_or_sync(0, b ? 1u << lane() : 0u); }
static inline int __any_sync(unsigned m, int b) { return __ballot_sync(m, b) != 0; }
static inline int __all_sync(unsigned m, int b) { return __ballot_sync(m, !b) == 0; }

static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v != 0 ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v != 0 ? __builtin_clzll((unsigned long long)v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (n & 31u) >> 32);
}
static inline unsigned long long __brevll(unsigned long long v) {
    unsigned long long r = 0;
    for (int i = 0; i < 64; i++) r |= (v >> i & 1) << (63 - i);
    return r;
}
static inline unsigned __brev(unsigned v) { return (unsigned)(__brevll(v) >> 32); }

template <class T, class F> static inline T update(T* p, F f) {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &old, f(old), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}
template <class T> static inline T atomicExch(T* p, T v) { return update(p, [=](T) { return v; }); }
template <class T> static inline T atomicAdd(T* p, T v) { return update(p, [=](T a) { return (T)(a + v); }); }
template <class T> static inline T atomicAnd(T* p, T v) { return update(p, [=](T a) { return (T)(a & v); }); }
template <class T> static inline T atomicOr(T* p, T v) { return update(p, [=](T a) { return (T)(a | v); }); }
template <class T> static inline T atomicXor(T* p, T v) { return update(p, [=](T a) { return (T)(a ^ v); }); }
template <class T> static inline T atomicMin(T* p, T v) { return update(p, [=](T a) { return v < a ? v : a; }); }
template <class T> static inline T atomicMax(T* p, T v) { return update(p, [=](T a) { return a < v ? v : a; }); }
template <class T> static inline T atomicCAS(T* p, T was, T v) { return update(p, [=](T a) { return a == was ? v : a; }); }
