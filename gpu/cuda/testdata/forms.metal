#include <metal_stdlib>
using namespace metal;

struct Params {
    ulong n;
    uint2 k;
};

// One use of each form that kernel text takes.
template <class P> static inline uint first(P p) { return p[0]; }

kernel void forms(
    device const uint* a [[buffer(0)]],
    device atomic_uint* out [[buffer(3)]],
    constant Params& p [[buffer(5)]],
    constant uint* table [[buffer(6)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint2 size [[threads_per_threadgroup]],
    ushort lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint i [[thread_position_in_grid]])
{
    threadgroup uint part[32];
    threadgroup uint* at = part + sg;
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
