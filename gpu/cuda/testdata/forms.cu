// by address: false, parameters: [{0 false} {3 false} {5 true} {6 false}]
namespace metal_program {
METAL_PROGRAM
#line 1 "program_source"
                       
using namespace metal;

struct Params {
    ulong n;
    uint2 k;
};

// One use of each form that kernel text takes.
template <class P> static inline uint first(P p) { return p[0]; }

kernel void forms(
    device const uint* a              ,
    device atomic_uint* out              ,
    constant Params& p              ,
    constant uint* table              ,
    uint3 tg                                 ,
    uint2 size                            ,
    ushort lane                              ,
    uint sg                                   ,
    uint i                            )
{
    __shared__ uint part[32];
                uint* at = part + sg;
    uint x = i < p.n ? a[i] + table[lane] : 0u;
    x = simd_sum(x) + simd_prefix_exclusive_sum(x) + popcount(x) + clz(x) + ctz(x) + mulhi(x, x);
    x += (uint)(simd_vote::vote_t)simd_ballot(x != 0u) + simd_min(x) + simd_max(x) + simd_or(x) + rotate(x, 3u);
    ulong y = as_type<ulong>(simd_shuffle_xor(as_type<uint2>((ulong)x), (ushort)16));
    if (lane == 0) *at = x + (uint)y;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_barrier(mem_flags::mem_none);
    uint2 v = uint2(x, tg.y) + p.k;
    v += uint2(size.x);
    atomic_fetch_add_explicit(out, first(part) + v.x * v[1], memory_order_relaxed);
    atomic_fetch_min_explicit(out + 1, min(x, max(v.y, clamp(x, 1u, 9u))), memory_order_relaxed);
    uint expected = atomic_load_explicit(out + 2, memory_order_relaxed);
    if (!atomic_compare_exchange_weak_explicit(out + 2, &expected, x, memory_order_relaxed, memory_order_relaxed))
        atomic_store_explicit(out + 2, select(x, expected, simd_any(true)), memory_order_relaxed);
}

#line 1 "metal_entry"
namespace entry {
static_assert(sizeof(constant Params) <= 4096, "too long to be passed by value");
extern "C" __global__ void __launch_bounds__(256) forms(device const uint* b0, device atomic_uint* b3, METAL_BY_VALUE constant Params b5, constant uint* b6)
{
    metal_program::forms(b0, b3, b5, b6, metal::position<uint3>::of(blockIdx.x, blockIdx.y, blockIdx.z), metal::position<uint2>::of(blockDim.x, blockDim.y, blockDim.z), metal::position<ushort>::of(threadIdx.x & 31u, 0u, 0u), metal::position<uint>::of(threadIdx.x >> 5, 0u, 0u), metal::position<uint>::of(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z));
}
}
}
// by address: true, parameters: [{0 false} {3 false} {5 true} {6 false}]
namespace metal_program {
METAL_PROGRAM
#line 1 "program_source"
                       
using namespace metal;

struct Params {
    ulong n;
    uint2 k;
};

// One use of each form that kernel text takes.
template <class P> static inline uint first(P p) { return p[0]; }

kernel void forms(
    device const uint* a              ,
    device atomic_uint* out              ,
    constant Params& p              ,
    constant uint* table              ,
    uint3 tg                                 ,
    uint2 size                            ,
    ushort lane                              ,
    uint sg                                   ,
    uint i                            )
{
    __shared__ uint part[32];
                uint* at = part + sg;
    uint x = i < p.n ? a[i] + table[lane] : 0u;
    x = simd_sum(x) + simd_prefix_exclusive_sum(x) + popcount(x) + clz(x) + ctz(x) + mulhi(x, x);
    x += (uint)(simd_vote::vote_t)simd_ballot(x != 0u) + simd_min(x) + simd_max(x) + simd_or(x) + rotate(x, 3u);
    ulong y = as_type<ulong>(simd_shuffle_xor(as_type<uint2>((ulong)x), (ushort)16));
    if (lane == 0) *at = x + (uint)y;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_barrier(mem_flags::mem_none);
    uint2 v = uint2(x, tg.y) + p.k;
    v += uint2(size.x);
    atomic_fetch_add_explicit(out, first(part) + v.x * v[1], memory_order_relaxed);
    atomic_fetch_min_explicit(out + 1, min(x, max(v.y, clamp(x, 1u, 9u))), memory_order_relaxed);
    uint expected = atomic_load_explicit(out + 2, memory_order_relaxed);
    if (!atomic_compare_exchange_weak_explicit(out + 2, &expected, x, memory_order_relaxed, memory_order_relaxed))
        atomic_store_explicit(out + 2, select(x, expected, simd_any(true)), memory_order_relaxed);
}

#line 1 "metal_entry"
namespace entry {
extern "C" __global__ void __launch_bounds__(256) forms(device const uint* b0, device atomic_uint* b3, constant Params* b5, constant uint* b6)
{
    metal_program::forms(b0, b3, *b5, b6, metal::position<uint3>::of(blockIdx.x, blockIdx.y, blockIdx.z), metal::position<uint2>::of(blockDim.x, blockDim.y, blockDim.z), metal::position<ushort>::of(threadIdx.x & 31u, 0u, 0u), metal::position<uint>::of(threadIdx.x >> 5, 0u, 0u), metal::position<uint>::of(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z));
}
}
}
