#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// The value of the lane whose number differs by the bits of d.
static inline ulong shuffle_xor(ulong v, ushort d) {
    return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(v), d));
}

// m * 2^(at - 1074) into digits of 16 bits, which are threadgroup memory.
template <class D> static inline void add_digits(D digits, ulong m, bool negative, uint at) {
    uint k = at >> 4;
    ulong low = m << (at & 15u);
    ulong top = (m >> 1) >> (63u - (at & 15u));
    for (uint i = k; low != 0ul; i++) {
        ulong d = low & 0xfffful;
        if (d != 0ul) atomic_fetch_add_explicit(digits + i, negative ? 0ul - d : d, memory_order_relaxed);
        low >>= 16;
    }
    if (top != 0ul) atomic_fetch_add_explicit(digits + k + 4u, negative ? 0ul - top : top, memory_order_relaxed);
}

// A finite binary64 number into digits.
template <class D> static inline void add_number(D digits, ulong x) {
    uint e = (uint)(x >> 52) & 0x7ffu;
    ulong m = x & 0x000ffffffffffffful;
    if (e != 0u) {
        m |= 0x0010000000000000ul;
        e--;
    }
    add_digits(digits, m, (x >> 63) != 0ul, e);
}

// Where the sum of a slice starts, for numbers whose exponent field is at most limit: 1.5 * 2^k, so large that 1,024
// additions stay in its binade.
static inline ulong slice_start(uint limit, uint slice) {
    return ((ulong)(limit + 12u - 42u * slice) << 52) | 0x0008000000000000ul;
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    uint groups;
    uint first;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// Sum of the rows without rounding, added to a superaccumulator: digit i has the weight 2^(16 i - 1074).
//
// A thread splits each number into 2 slices of 42 bits by adding it to sums that start at 1.5 * 2^k: the addition
// rounds to a multiple of the sum's last place, the difference of the two sums is what went in, and what it lacks is left
// for the next slice, all exactly. The slices' sums are integers in units of their last place. A number that is too large
// for the slices raises them, and what is left under the last one goes to the digits by itself.
kernel void exact_sum_f32_native(
    device const uint* in [[buffer(0)]],
    device atomic_ulong* partials [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_ulong words[137]; // a state
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    if (tid < 137u) atomic_store_explicit(&words[tid], 0ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong rows = 0ul;
    uint limit = 73u; // the largest exponent field that the slices take: 73 leaves nothing under the last
    uint next = limit;
    uint since = 0u; // additions since the slices' sums were put into totals,
    uint held = 0u;  // and since totals were put into digits
    double sums[2];
    ulong totals[2];
    for (uint i = 0u; i < 2u; i++) {
        sums[i] = as_type<double>(slice_start(limit, i));
        totals[i] = 0ul;
    }
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) rows += end - first;
        for (uint b = 0u; b < 32u; b += 8u) {
            ulong x[8];
            uint top = 0u;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                ulong row = first + (ulong)((b + j) * 256u + tid);
                bool live = row < end;
                x[j] = as_type<ulong>((double)as_type<float>(live ? in[p.off + row] : 0u));
            }
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) top = max(top, (uint)(x[j] >> 32) & 0x7fffffffu);
            top >>= 20;
            if (simd_any(top > next)) {
                if (top > 2034u) {
                    // Numbers near the largest have no start above them; NaN and infinities are counted.
                    top = 0u;
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) {
                        uint e = (uint)(x[j] >> 52) & 0x7ffu;
                        if (e == 2047u) {
                            uint kind = (x[j] << 12) != 0ul ? 2u : 3u + (uint)(x[j] >> 63);
                            atomic_fetch_add_explicit(&words[kind], 1ul, memory_order_relaxed);
                        } else if (e > 2034u) {
                            add_number(words + 5, x[j]);
                        }
                        if (e > 2034u) x[j] = 0ul;
                        else top = max(top, e);
                    }
                }
                uint most = simd_max(top);
                if (most > next) next = min(most + 1u, 2034u);
            }
            if (next != limit || since == 1024u) {
                for (uint i = 0u; i < 2u; i++) {
                    totals[i] += as_type<ulong>(sums[i]) - slice_start(limit, i);
                }
                held += since;
                since = 0u;
                if (next != limit || held >= 8192u) {
                    for (uint i = 0u; i < 2u; i++) {
                        ulong t = totals[i];
                        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
                        bool negative = (t >> 63) != 0ul;
                        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
                        totals[i] = 0ul;
                    }
                    held = 0u;
                    limit = next;
                }
                for (uint i = 0u; i < 2u; i++) sums[i] = as_type<double>(slice_start(limit, i));
            }
            ulong rest = 0ul;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                double r = as_type<double>(x[j]);
                #pragma unroll
                for (uint i = 0u; i < 2u; i++) {
                    double s = sums[i] + r;
                    r = r - (s - sums[i]);
                    sums[i] = s;
                }
                x[j] = as_type<ulong>(r);
                rest |= x[j] << 1;
            }
            since += 8u;
            if (simd_any(rest != 0ul)) {
                if (rest != 0ul) {
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) add_number(words + 5, x[j]);
                }
                uint most = simd_max(top);
                if (most + 16u < limit) next = max(most + 1u, 73u);
            }
        }
    }
    for (uint i = 0u; i < 2u; i++) {
        ulong t = totals[i] + (as_type<ulong>(sums[i]) - slice_start(limit, i));
        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
        bool negative = (t >> 63) != 0ul;
        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
    }
    if (tid == 0u) {
        atomic_fetch_add_explicit(&words[0], rows, memory_order_relaxed);
        atomic_fetch_add_explicit(&words[1], rows, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < 137u) {
        ulong v = atomic_load_explicit(&words[tid], memory_order_relaxed);
        if (v != 0ul) atomic_fetch_add_explicit(partials + (ulong)p.first * 137ul + (ulong)tid, v, memory_order_relaxed);
    }
}

// Sum of the rows without rounding, added to a superaccumulator: digit i has the weight 2^(16 i - 1074).
//
// A thread splits each number into 2 slices of 42 bits by adding it to sums that start at 1.5 * 2^k: the addition
// rounds to a multiple of the sum's last place, the difference of the two sums is what went in, and what it lacks is left
// for the next slice, all exactly. The slices' sums are integers in units of their last place. A number that is too large
// for the slices raises them, and what is left under the last one goes to the digits by itself.
kernel void exact_sum_f32_pending_native(
    device const uint* in [[buffer(0)]],
    device atomic_ulong* partials [[buffer(2)]],
    device const ulong* len [[buffer(3)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_ulong words[137]; // a state
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    if (tid < 137u) atomic_store_explicit(&words[tid], 0ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong rows = 0ul;
    uint limit = 73u; // the largest exponent field that the slices take: 73 leaves nothing under the last
    uint next = limit;
    uint since = 0u; // additions since the slices' sums were put into totals,
    uint held = 0u;  // and since totals were put into digits
    double sums[2];
    ulong totals[2];
    for (uint i = 0u; i < 2u; i++) {
        sums[i] = as_type<double>(slice_start(limit, i));
        totals[i] = 0ul;
    }
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) rows += end - first;
        for (uint b = 0u; b < 32u; b += 8u) {
            ulong x[8];
            uint top = 0u;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                ulong row = first + (ulong)((b + j) * 256u + tid);
                bool live = row < end;
                x[j] = as_type<ulong>((double)as_type<float>(live ? in[p.off + row] : 0u));
            }
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) top = max(top, (uint)(x[j] >> 32) & 0x7fffffffu);
            top >>= 20;
            if (simd_any(top > next)) {
                if (top > 2034u) {
                    // Numbers near the largest have no start above them; NaN and infinities are counted.
                    top = 0u;
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) {
                        uint e = (uint)(x[j] >> 52) & 0x7ffu;
                        if (e == 2047u) {
                            uint kind = (x[j] << 12) != 0ul ? 2u : 3u + (uint)(x[j] >> 63);
                            atomic_fetch_add_explicit(&words[kind], 1ul, memory_order_relaxed);
                        } else if (e > 2034u) {
                            add_number(words + 5, x[j]);
                        }
                        if (e > 2034u) x[j] = 0ul;
                        else top = max(top, e);
                    }
                }
                uint most = simd_max(top);
                if (most > next) next = min(most + 1u, 2034u);
            }
            if (next != limit || since == 1024u) {
                for (uint i = 0u; i < 2u; i++) {
                    totals[i] += as_type<ulong>(sums[i]) - slice_start(limit, i);
                }
                held += since;
                since = 0u;
                if (next != limit || held >= 8192u) {
                    for (uint i = 0u; i < 2u; i++) {
                        ulong t = totals[i];
                        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
                        bool negative = (t >> 63) != 0ul;
                        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
                        totals[i] = 0ul;
                    }
                    held = 0u;
                    limit = next;
                }
                for (uint i = 0u; i < 2u; i++) sums[i] = as_type<double>(slice_start(limit, i));
            }
            ulong rest = 0ul;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                double r = as_type<double>(x[j]);
                #pragma unroll
                for (uint i = 0u; i < 2u; i++) {
                    double s = sums[i] + r;
                    r = r - (s - sums[i]);
                    sums[i] = s;
                }
                x[j] = as_type<ulong>(r);
                rest |= x[j] << 1;
            }
            since += 8u;
            if (simd_any(rest != 0ul)) {
                if (rest != 0ul) {
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) add_number(words + 5, x[j]);
                }
                uint most = simd_max(top);
                if (most + 16u < limit) next = max(most + 1u, 73u);
            }
        }
    }
    for (uint i = 0u; i < 2u; i++) {
        ulong t = totals[i] + (as_type<ulong>(sums[i]) - slice_start(limit, i));
        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
        bool negative = (t >> 63) != 0ul;
        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
    }
    if (tid == 0u) {
        atomic_fetch_add_explicit(&words[0], rows, memory_order_relaxed);
        atomic_fetch_add_explicit(&words[1], rows, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < 137u) {
        ulong v = atomic_load_explicit(&words[tid], memory_order_relaxed);
        if (v != 0ul) atomic_fetch_add_explicit(partials + (ulong)p.first * 137ul + (ulong)tid, v, memory_order_relaxed);
    }
}

// Sum of the rows without rounding, added to a superaccumulator: digit i has the weight 2^(16 i - 1074).
//
// A thread splits each number into 2 slices of 42 bits by adding it to sums that start at 1.5 * 2^k: the addition
// rounds to a multiple of the sum's last place, the difference of the two sums is what went in, and what it lacks is left
// for the next slice, all exactly. The slices' sums are integers in units of their last place. A number that is too large
// for the slices raises them, and what is left under the last one goes to the digits by itself.
kernel void exact_sum_f32_nulls_native(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device atomic_ulong* partials [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_ulong words[137]; // a state
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = p.n;
    uint tid = sg * 32u + lane;
    if (tid < 137u) atomic_store_explicit(&words[tid], 0ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong rows = 0ul;
    uint alive = 0u;
    uint limit = 73u; // the largest exponent field that the slices take: 73 leaves nothing under the last
    uint next = limit;
    uint since = 0u; // additions since the slices' sums were put into totals,
    uint held = 0u;  // and since totals were put into digits
    double sums[2];
    ulong totals[2];
    for (uint i = 0u; i < 2u; i++) {
        sums[i] = as_type<double>(slice_start(limit, i));
        totals[i] = 0ul;
    }
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) rows += end - first;
        for (uint b = 0u; b < 32u; b += 8u) {
            ulong x[8];
            uint top = 0u;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                ulong row = first + (ulong)((b + j) * 256u + tid);
                bool live = row < end;
                live = live && bit_at(valid, p.valid + row);
                alive += live ? 1u : 0u;
                x[j] = as_type<ulong>((double)as_type<float>(live ? in[p.off + row] : 0u));
            }
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) top = max(top, (uint)(x[j] >> 32) & 0x7fffffffu);
            top >>= 20;
            if (simd_any(top > next)) {
                if (top > 2034u) {
                    // Numbers near the largest have no start above them; NaN and infinities are counted.
                    top = 0u;
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) {
                        uint e = (uint)(x[j] >> 52) & 0x7ffu;
                        if (e == 2047u) {
                            uint kind = (x[j] << 12) != 0ul ? 2u : 3u + (uint)(x[j] >> 63);
                            atomic_fetch_add_explicit(&words[kind], 1ul, memory_order_relaxed);
                        } else if (e > 2034u) {
                            add_number(words + 5, x[j]);
                        }
                        if (e > 2034u) x[j] = 0ul;
                        else top = max(top, e);
                    }
                }
                uint most = simd_max(top);
                if (most > next) next = min(most + 1u, 2034u);
            }
            if (next != limit || since == 1024u) {
                for (uint i = 0u; i < 2u; i++) {
                    totals[i] += as_type<ulong>(sums[i]) - slice_start(limit, i);
                }
                held += since;
                since = 0u;
                if (next != limit || held >= 8192u) {
                    for (uint i = 0u; i < 2u; i++) {
                        ulong t = totals[i];
                        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
                        bool negative = (t >> 63) != 0ul;
                        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
                        totals[i] = 0ul;
                    }
                    held = 0u;
                    limit = next;
                }
                for (uint i = 0u; i < 2u; i++) sums[i] = as_type<double>(slice_start(limit, i));
            }
            ulong rest = 0ul;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                double r = as_type<double>(x[j]);
                #pragma unroll
                for (uint i = 0u; i < 2u; i++) {
                    double s = sums[i] + r;
                    r = r - (s - sums[i]);
                    sums[i] = s;
                }
                x[j] = as_type<ulong>(r);
                rest |= x[j] << 1;
            }
            since += 8u;
            if (simd_any(rest != 0ul)) {
                if (rest != 0ul) {
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) add_number(words + 5, x[j]);
                }
                uint most = simd_max(top);
                if (most + 16u < limit) next = max(most + 1u, 73u);
            }
        }
    }
    for (uint i = 0u; i < 2u; i++) {
        ulong t = totals[i] + (as_type<ulong>(sums[i]) - slice_start(limit, i));
        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
        bool negative = (t >> 63) != 0ul;
        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
    }
    if (tid == 0u) {
        atomic_fetch_add_explicit(&words[0], rows, memory_order_relaxed);
    }
    alive = simd_sum(alive);
    if (lane == 0u) atomic_fetch_add_explicit(&words[1], (ulong)alive, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < 137u) {
        ulong v = atomic_load_explicit(&words[tid], memory_order_relaxed);
        if (v != 0ul) atomic_fetch_add_explicit(partials + (ulong)p.first * 137ul + (ulong)tid, v, memory_order_relaxed);
    }
}

// Sum of the rows without rounding, added to a superaccumulator: digit i has the weight 2^(16 i - 1074).
//
// A thread splits each number into 2 slices of 42 bits by adding it to sums that start at 1.5 * 2^k: the addition
// rounds to a multiple of the sum's last place, the difference of the two sums is what went in, and what it lacks is left
// for the next slice, all exactly. The slices' sums are integers in units of their last place. A number that is too large
// for the slices raises them, and what is left under the last one goes to the digits by itself.
kernel void exact_sum_f32_nulls_pending_native(
    device const uint* in [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device atomic_ulong* partials [[buffer(2)]],
    device const ulong* len [[buffer(3)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup atomic_ulong words[137]; // a state
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = len[0] < p.n ? len[0] : p.n;
    uint tid = sg * 32u + lane;
    if (tid < 137u) atomic_store_explicit(&words[tid], 0ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong rows = 0ul;
    uint alive = 0u;
    uint limit = 73u; // the largest exponent field that the slices take: 73 leaves nothing under the last
    uint next = limit;
    uint since = 0u; // additions since the slices' sums were put into totals,
    uint held = 0u;  // and since totals were put into digits
    double sums[2];
    ulong totals[2];
    for (uint i = 0u; i < 2u; i++) {
        sums[i] = as_type<double>(slice_start(limit, i));
        totals[i] = 0ul;
    }
    for (ulong first = group * 8192ul; first < n; first += (ulong)p.groups * 8192ul) {
        ulong end = n - first < 8192ul ? n : first + 8192ul;
        if (tid == 0u) rows += end - first;
        for (uint b = 0u; b < 32u; b += 8u) {
            ulong x[8];
            uint top = 0u;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                ulong row = first + (ulong)((b + j) * 256u + tid);
                bool live = row < end;
                live = live && bit_at(valid, p.valid + row);
                alive += live ? 1u : 0u;
                x[j] = as_type<ulong>((double)as_type<float>(live ? in[p.off + row] : 0u));
            }
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) top = max(top, (uint)(x[j] >> 32) & 0x7fffffffu);
            top >>= 20;
            if (simd_any(top > next)) {
                if (top > 2034u) {
                    // Numbers near the largest have no start above them; NaN and infinities are counted.
                    top = 0u;
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) {
                        uint e = (uint)(x[j] >> 52) & 0x7ffu;
                        if (e == 2047u) {
                            uint kind = (x[j] << 12) != 0ul ? 2u : 3u + (uint)(x[j] >> 63);
                            atomic_fetch_add_explicit(&words[kind], 1ul, memory_order_relaxed);
                        } else if (e > 2034u) {
                            add_number(words + 5, x[j]);
                        }
                        if (e > 2034u) x[j] = 0ul;
                        else top = max(top, e);
                    }
                }
                uint most = simd_max(top);
                if (most > next) next = min(most + 1u, 2034u);
            }
            if (next != limit || since == 1024u) {
                for (uint i = 0u; i < 2u; i++) {
                    totals[i] += as_type<ulong>(sums[i]) - slice_start(limit, i);
                }
                held += since;
                since = 0u;
                if (next != limit || held >= 8192u) {
                    for (uint i = 0u; i < 2u; i++) {
                        ulong t = totals[i];
                        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
                        bool negative = (t >> 63) != 0ul;
                        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
                        totals[i] = 0ul;
                    }
                    held = 0u;
                    limit = next;
                }
                for (uint i = 0u; i < 2u; i++) sums[i] = as_type<double>(slice_start(limit, i));
            }
            ulong rest = 0ul;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                double r = as_type<double>(x[j]);
                #pragma unroll
                for (uint i = 0u; i < 2u; i++) {
                    double s = sums[i] + r;
                    r = r - (s - sums[i]);
                    sums[i] = s;
                }
                x[j] = as_type<ulong>(r);
                rest |= x[j] << 1;
            }
            since += 8u;
            if (simd_any(rest != 0ul)) {
                if (rest != 0ul) {
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) add_number(words + 5, x[j]);
                }
                uint most = simd_max(top);
                if (most + 16u < limit) next = max(most + 1u, 73u);
            }
        }
    }
    for (uint i = 0u; i < 2u; i++) {
        ulong t = totals[i] + (as_type<ulong>(sums[i]) - slice_start(limit, i));
        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
        bool negative = (t >> 63) != 0ul;
        if (lane == i) add_digits(words + 5, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
    }
    if (tid == 0u) {
        atomic_fetch_add_explicit(&words[0], rows, memory_order_relaxed);
    }
    alive = simd_sum(alive);
    if (lane == 0u) atomic_fetch_add_explicit(&words[1], (ulong)alive, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < 137u) {
        ulong v = atomic_load_explicit(&words[tid], memory_order_relaxed);
        if (v != 0ul) atomic_fetch_add_explicit(partials + (ulong)p.first * 137ul + (ulong)tid, v, memory_order_relaxed);
    }
}
