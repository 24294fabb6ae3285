// What kernel text in the Metal Shading Language means to CUDA C++. Text that follows is compiled with every function a
// device function, in a namespace of its own (see METAL_PROGRAM).

#define kernel static __device__ __forceinline__
#define device
#define constant const
#define thread
#define METAL_FUNC inline
#define coherent(scope)
#define METAL_INLINE static __device__ __forceinline__

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

static_assert(sizeof(ulong) == 8, "MSL's long has 64 bits");

// A parameter of an entry whose address the kernel takes without a copy.
#ifdef __CUDACC_RTC__
#define METAL_BY_VALUE __grid_constant__
#else
#define METAL_BY_VALUE
#endif

#ifndef INT_MAX
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-LONG_MAX - 1l)
#define ULONG_MAX 0xfffffffffffffffful
#endif

template <class D, class S> METAL_INLINE D as_type(S s) {
    static_assert(sizeof(D) == sizeof(S), "as_type needs types of equal size");
    D d;
    memcpy(&d, &s, sizeof d);
    return d;
}

namespace metal {

// Vectors: components by name or index, component-wise arithmetic.

template <class T, int N> struct vec;

#define METAL_INDEX                                                                                                    \
    __device__ __forceinline__ T& operator[](int i) { return (&x)[i]; }                                                \
    __device__ __forceinline__ const T& operator[](int i) const { return (&x)[i]; }

template <class T> struct alignas(2 * sizeof(T)) vec<T, 2> {
    T x, y;
    vec() = default;
    __device__ __forceinline__ vec(T a) : x(a), y(a) {}
    __device__ __forceinline__ vec(T a, T b) : x(a), y(b) {}
    template <class U> __device__ __forceinline__ explicit vec(vec<U, 2> v) : x(T(v.x)), y(T(v.y)) {}
    METAL_INDEX
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 3> {
    T x, y, z;
    vec() = default;
    __device__ __forceinline__ vec(T a) : x(a), y(a), z(a) {}
    __device__ __forceinline__ vec(T a, T b, T c) : x(a), y(b), z(c) {}
    template <class U> __device__ __forceinline__ explicit vec(vec<U, 3> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)) {}
    METAL_INDEX
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 4> {
    T x, y, z, w;
    vec() = default;
    __device__ __forceinline__ vec(T a) : x(a), y(a), z(a), w(a) {}
    __device__ __forceinline__ vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    template <class U>
    __device__ __forceinline__ explicit vec(vec<U, 4> v) : x(T(v.x)), y(T(v.y)), z(T(v.z)), w(T(v.w)) {}
    METAL_INDEX
};

template <class T> struct identity { typedef T type; };
template <class T> using exactly = typename identity<T>::type;

#define METAL_VECTOR_OPERATOR(op)                                                                                      \
    template <class T, int N> METAL_INLINE vec<T, N> operator op(vec<T, N> a, vec<T, N> b) {                           \
        vec<T, N> r;                                                                                                   \
        for (int i = 0; i < N; i++) r[i] = T(a[i] op b[i]);                                                            \
        return r;                                                                                                      \
    }                                                                                                                  \
    template <class T, int N> METAL_INLINE vec<T, N> operator op(vec<T, N> a, exactly<T> b) {                          \
        return a op vec<T, N>(b);                                                                                      \
    }                                                                                                                  \
    template <class T, int N> METAL_INLINE vec<T, N>& operator op##=(vec<T, N>& a, vec<T, N> b) {                      \
        return a = a op b;                                                                                             \
    }
METAL_VECTOR_OPERATOR(+)
METAL_VECTOR_OPERATOR(-)
METAL_VECTOR_OPERATOR(*)
METAL_VECTOR_OPERATOR(/)
METAL_VECTOR_OPERATOR(&)
METAL_VECTOR_OPERATOR(|)
METAL_VECTOR_OPERATOR(^)
METAL_VECTOR_OPERATOR(<<)
METAL_VECTOR_OPERATOR(>>)

#define METAL_VECTORS(T)                                                                                               \
    typedef vec<T, 2> T##2;                                                                                            \
    typedef vec<T, 3> T##3;                                                                                            \
    typedef vec<T, 4> T##4;
METAL_VECTORS(uchar)
METAL_VECTORS(short)
METAL_VECTORS(ushort)
METAL_VECTORS(int)
METAL_VECTORS(uint)
METAL_VECTORS(long)
METAL_VECTORS(ulong)
METAL_VECTORS(float)
METAL_VECTORS(double)
typedef vec<signed char, 2> char2;
typedef vec<signed char, 3> char3;
typedef vec<signed char, 4> char4;

// Integers.

METAL_INLINE uint popcount(uint v) { return __popc(v); }
METAL_INLINE ulong popcount(ulong v) { return __popcll(v); }
METAL_INLINE int popcount(int v) { return __popc((uint)v); }
METAL_INLINE long popcount(long v) { return __popcll((ulong)v); }
METAL_INLINE ushort popcount(ushort v) { return (ushort)__popc(v); }
METAL_INLINE uchar popcount(uchar v) { return (uchar)__popc(v); }

// clz and ctz of zero are the width.
METAL_INLINE uint clz(uint v) { return __clz((int)v); }
METAL_INLINE ulong clz(ulong v) { return __clzll((long long)v); }
METAL_INLINE int clz(int v) { return __clz(v); }
METAL_INLINE long clz(long v) { return __clzll((long long)v); }
METAL_INLINE ushort clz(ushort v) { return (ushort)(__clz((int)v) - 16); }
METAL_INLINE uchar clz(uchar v) { return (uchar)(__clz((int)v) - 24); }
METAL_INLINE uint ctz(uint v) { return v != 0u ? __ffs((int)v) - 1 : 32; }
METAL_INLINE ulong ctz(ulong v) { return v != 0ul ? __ffsll((long long)v) - 1 : 64; }
METAL_INLINE int ctz(int v) { return (int)ctz((uint)v); }
METAL_INLINE long ctz(long v) { return (long)ctz((ulong)v); }
METAL_INLINE ushort ctz(ushort v) { return (ushort)ctz((uint)v | 0x10000u); }
METAL_INLINE uchar ctz(uchar v) { return (uchar)ctz((uint)v | 0x100u); }

// The high half of the product.
METAL_INLINE uint mulhi(uint a, uint b) { return __umulhi(a, b); }
METAL_INLINE int mulhi(int a, int b) { return __mulhi(a, b); }
METAL_INLINE ulong mulhi(ulong a, ulong b) { return __umul64hi(a, b); }
METAL_INLINE long mulhi(long a, long b) { return __mul64hi(a, b); }
METAL_INLINE ushort mulhi(ushort a, ushort b) { return (ushort)((uint)a * (uint)b >> 16); }
METAL_INLINE short mulhi(short a, short b) { return (short)((int)a * (int)b >> 16); }

METAL_INLINE uint reverse_bits(uint v) { return __brev(v); }
METAL_INLINE ulong reverse_bits(ulong v) { return __brevll(v); }

// Rotates left; the count is taken modulo the width.
METAL_INLINE uint rotate(uint v, uint n) { return __funnelshift_l(v, v, n); }
METAL_INLINE ulong rotate(ulong v, ulong n) { return v << (n & 63ul) | v >> (-n & 63ul); }

template <class T> METAL_INLINE T min(T a, T b) { return b < a ? b : a; }
template <class T> METAL_INLINE T max(T a, T b) { return a < b ? b : a; }
template <class T> METAL_INLINE T clamp(T v, T low, T high) { return min(max(v, low), high); }
template <class T> METAL_INLINE T select(T f, T t, bool c) { return c ? t : f; }
template <class T> METAL_INLINE T extract_bits(T v, uint offset, uint count) {
    constexpr uint width = sizeof(T) * 8;
    return count == 0u ? T(0) : T(T(v << (width - offset - count)) >> (width - count));
}
template <class T> METAL_INLINE T insert_bits(T base, T v, uint offset, uint count) {
    T ones = count >= sizeof(T) * 8 ? T(~T(0)) : T((T(1) << count) - 1);
    T mask = T(ones << offset);
    return T(base & T(~mask)) | T(T(v << offset) & mask);
}

// The SIMD-group. Its lanes call these together, as in MSL's uniform control flow.

#define METAL_LANES 0xffffffffu

template <class T> struct words {
    static constexpr int n = (sizeof(T) + 3) / 4;
    uint w[n];
};
template <class T> METAL_INLINE words<T> to_words(T v) {
    words<T> r;
    r.w[words<T>::n - 1] = 0u;
    memcpy(r.w, &v, sizeof v);
    return r;
}
template <class T> METAL_INLINE T from_words(words<T> r) {
    T v;
    memcpy(&v, r.w, sizeof v);
    return v;
}

#define METAL_SHUFFLE(name, intrinsic)                                                                                 \
    template <class T> METAL_INLINE T name(T v, uint d) {                                                              \
        words<T> r = to_words(v);                                                                                      \
        for (int i = 0; i < words<T>::n; i++) r.w[i] = intrinsic(METAL_LANES, r.w[i], d);                              \
        return from_words<T>(r);                                                                                       \
    }
METAL_SHUFFLE(simd_shuffle, __shfl_sync)
METAL_SHUFFLE(simd_shuffle_up, __shfl_up_sync)
METAL_SHUFFLE(simd_shuffle_down, __shfl_down_sync)
METAL_SHUFFLE(simd_shuffle_xor, __shfl_xor_sync)
METAL_SHUFFLE(simd_broadcast, __shfl_sync)
template <class T> METAL_INLINE T simd_broadcast_first(T v) { return simd_broadcast(v, 0u); }

#define METAL_SIMD_REDUCE(name, expression)                                                                            \
    template <class T> METAL_INLINE T name(T a) {                                                                      \
        for (uint d = 16u; d > 0u; d >>= 1) {                                                                          \
            T b = simd_shuffle_xor(a, d);                                                                              \
            a = T(expression);                                                                                         \
        }                                                                                                              \
        return a;                                                                                                      \
    }
METAL_SIMD_REDUCE(simd_sum, a + b)
METAL_SIMD_REDUCE(simd_product, a* b)
METAL_SIMD_REDUCE(simd_min, b < a ? b : a)
METAL_SIMD_REDUCE(simd_max, a < b ? b : a)
METAL_SIMD_REDUCE(simd_and, a& b)
METAL_SIMD_REDUCE(simd_or, a | b)
METAL_SIMD_REDUCE(simd_xor, a ^ b)

#if __CUDA_ARCH__ >= 800
METAL_INLINE uint simd_sum(uint v) { return __reduce_add_sync(METAL_LANES, v); }
METAL_INLINE int simd_sum(int v) { return __reduce_add_sync(METAL_LANES, v); }
METAL_INLINE uint simd_min(uint v) { return __reduce_min_sync(METAL_LANES, v); }
METAL_INLINE int simd_min(int v) { return __reduce_min_sync(METAL_LANES, v); }
METAL_INLINE uint simd_max(uint v) { return __reduce_max_sync(METAL_LANES, v); }
METAL_INLINE int simd_max(int v) { return __reduce_max_sync(METAL_LANES, v); }
METAL_INLINE uint simd_and(uint v) { return __reduce_and_sync(METAL_LANES, v); }
METAL_INLINE uint simd_or(uint v) { return __reduce_or_sync(METAL_LANES, v); }
METAL_INLINE uint simd_xor(uint v) { return __reduce_xor_sync(METAL_LANES, v); }
#endif

template <class T> METAL_INLINE T simd_prefix_inclusive_sum(T v) {
    for (uint d = 1u; d < 32u; d <<= 1) {
        T below = simd_shuffle_up(v, d);
        if ((threadIdx.x & 31u) >= d) v = T(v + below);
    }
    return v;
}
template <class T> METAL_INLINE T simd_prefix_exclusive_sum(T v) {
    T below = simd_shuffle_up(simd_prefix_inclusive_sum(v), 1u);
    return (threadIdx.x & 31u) != 0u ? below : T(0);
}

struct simd_vote {
    typedef ulong vote_t;
    vote_t mask;
    __device__ __forceinline__ explicit simd_vote(vote_t m) : mask(m) {}
    __device__ __forceinline__ explicit operator vote_t() const { return mask; }
    __device__ __forceinline__ bool all() const { return mask == 0xfffffffful; }
    __device__ __forceinline__ bool any() const { return mask != 0ul; }
};
METAL_INLINE simd_vote simd_ballot(bool b) { return simd_vote(__ballot_sync(METAL_LANES, b)); }
METAL_INLINE bool simd_all(bool b) { return __all_sync(METAL_LANES, b) != 0; }
METAL_INLINE bool simd_any(bool b) { return __any_sync(METAL_LANES, b) != 0; }
METAL_INLINE bool simd_is_first() { return (threadIdx.x & 31u) == 0u; }

// Barriers.

enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
METAL_INLINE mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags((uint)a | (uint)b); }
METAL_INLINE void threadgroup_barrier(mem_flags) { __syncthreads(); }
METAL_INLINE void simdgroup_barrier(mem_flags) { __syncwarp(METAL_LANES); }

// Atomics, of relaxed order, device-wide.

enum memory_order { memory_order_relaxed, memory_order_seq_cst };

// A fence, of the order that MSL 3.2 has it with.
enum thread_scope { thread_scope_threadgroup, thread_scope_device, thread_scope_system };
METAL_INLINE void atomic_thread_fence(mem_flags, memory_order, thread_scope scope = thread_scope_device) {
    if (scope == thread_scope_system) {
        __threadfence_system();
    } else if (scope == thread_scope_device) {
        __threadfence();
    } else {
        __threadfence_block();
    }
}

template <class T> struct _atomic { T value; };
template <class T> using atomic = _atomic<T>;
typedef _atomic<int> atomic_int;
typedef _atomic<uint> atomic_uint;
typedef _atomic<long> atomic_long;
typedef _atomic<ulong> atomic_ulong;
typedef _atomic<float> atomic_float;

// The type that CUDA's functions take for T.
template <class T> struct cuda_word { typedef T type; };
template <> struct cuda_word<ulong> { typedef unsigned long long type; };
template <> struct cuda_word<long> { typedef long long type; };

template <class T> METAL_INLINE T atomic_load_explicit(const volatile _atomic<T>* p, memory_order) { return p->value; }
template <class T, class U> METAL_INLINE void atomic_store_explicit(volatile _atomic<T>* p, U v, memory_order) {
    p->value = (T)v;
}

#define METAL_ATOMIC(name, function)                                                                                   \
    template <class T, class U> METAL_INLINE T atomic_##name##_explicit(volatile _atomic<T>* p, U v, memory_order) {   \
        typedef typename cuda_word<T>::type W;                                                                         \
        return (T)function((W*)&p->value, (W)(T)v);                                                                    \
    }
METAL_ATOMIC(exchange, atomicExch)
METAL_ATOMIC(fetch_add, atomicAdd)
METAL_ATOMIC(fetch_and, atomicAnd)
METAL_ATOMIC(fetch_or, atomicOr)
METAL_ATOMIC(fetch_xor, atomicXor)
METAL_ATOMIC(fetch_min, atomicMin)
METAL_ATOMIC(fetch_max, atomicMax)
template <class T, class U> METAL_INLINE T atomic_fetch_sub_explicit(volatile _atomic<T>* p, U v, memory_order o) {
    return atomic_fetch_add_explicit(p, (T)(T(0) - (T)v), o);
}
// CUDA has no such operations for long, whose bits are those of ulong.
template <class U> METAL_INLINE long atomic_exchange_explicit(volatile atomic_long* p, U v, memory_order o) {
    return (long)atomic_exchange_explicit((volatile atomic_ulong*)p, (ulong)(long)v, o);
}
template <class U> METAL_INLINE long atomic_fetch_add_explicit(volatile atomic_long* p, U v, memory_order o) {
    return (long)atomic_fetch_add_explicit((volatile atomic_ulong*)p, (ulong)(long)v, o);
}
METAL_INLINE void atomic_min_explicit(volatile atomic_ulong* p, ulong v, memory_order o) {
    atomic_fetch_min_explicit(p, v, o);
}
METAL_INLINE void atomic_max_explicit(volatile atomic_ulong* p, ulong v, memory_order o) {
    atomic_fetch_max_explicit(p, v, o);
}
template <class T, class U>
METAL_INLINE bool atomic_compare_exchange_weak_explicit(volatile _atomic<T>* p, T* expected, U v, memory_order,
                                                        memory_order) {
    typedef typename cuda_word<T>::type W;
    T was = *expected;
    *expected = (T)atomicCAS((W*)&p->value, (W)was, (W)(T)v);
    return *expected == was;
}

// A position as the type that a kernel declares it with.
template <class T> struct position {
    METAL_INLINE T of(uint x, uint, uint) { return (T)x; }
};
template <class T> struct position<vec<T, 2>> {
    METAL_INLINE vec<T, 2> of(uint x, uint y, uint) { return vec<T, 2>((T)x, (T)y); }
};
template <class T> struct position<vec<T, 3>> {
    METAL_INLINE vec<T, 3> of(uint x, uint y, uint z) { return vec<T, 3>((T)x, (T)y, (T)z); }
};

} // namespace metal

#define METAL_USE_VECTORS(T)                                                                                           \
    using metal::T##2;                                                                                                 \
    using metal::T##3;                                                                                                 \
    using metal::T##4;

// The names that a program's namespace begins with: they hide CUDA's vectors, which are other types.
#define METAL_PROGRAM                                                                                                  \
    METAL_USE_VECTORS(uchar)                                                                                           \
    METAL_USE_VECTORS(short)                                                                                           \
    METAL_USE_VECTORS(ushort)                                                                                          \
    METAL_USE_VECTORS(int)                                                                                             \
    METAL_USE_VECTORS(uint)                                                                                            \
    METAL_USE_VECTORS(long)                                                                                            \
    METAL_USE_VECTORS(ulong)                                                                                           \
    METAL_USE_VECTORS(float)                                                                                           \
    METAL_USE_VECTORS(double)                                                                                          \
    using metal::char2;                                                                                                \
    using metal::char3;                                                                                                \
    using metal::char4;

// MSL's char has a sign on every processor.
#define char signed char
