#include <metal_stdlib>
using namespace metal;

#define ERR_INDEX 4u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    ulong dict;
    ulong dict_valid;
    ulong dict_len;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16(
    device const uchar* index [[buffer(0)]],
    device const ushort* dict [[buffer(2)]],
    device ushort* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n;
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_pending(
    device const uchar* index [[buffer(0)]],
    device const ushort* dict [[buffer(2)]],
    device ushort* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n;
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_bnulls(
    device const uchar* index [[buffer(0)]],
    device const ushort* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n;
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    uint known = 0u;
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
        if (v && bit_at(dict_valid, p.dict_valid + at[i])) known |= 1u << i;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((known >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_bnulls_pending(
    device const uchar* index [[buffer(0)]],
    device const ushort* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n;
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    uint known = 0u;
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
        if (v && bit_at(dict_valid, p.dict_valid + at[i])) known |= 1u << i;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((known >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_anulls(
    device const uchar* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const ushort* dict [[buffer(2)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((live >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_anulls_pending(
    device const uchar* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const ushort* dict [[buffer(2)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((live >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_nulls(
    device const uchar* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const ushort* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    uint known = 0u;
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
        if (v && bit_at(dict_valid, p.dict_valid + at[i])) known |= 1u << i;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((known >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u8_u16_nulls_pending(
    device const uchar* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const ushort* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device ushort* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * 2048ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[8];
    for (uint i = 0u; i < 8u; i++) {
        ulong row = first + (ulong)(i * 256u + lane);
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
    ushort x[8];
    uint known = 0u;
    for (uint i = 0u; i < 8u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
        x[i] = v ? dict[p.dict + at[i]] : (ushort)0;
        if (v && bit_at(dict_valid, p.dict_valid + at[i])) known |= 1u << i;
    }
    for (uint i = 0u; i < 8u; i++) {
        ulong start = first + (ulong)(i * 256u);
        if (start >= p.n) break;
        if (start + lane < p.n) out[start + lane] = x[i];
        uint valid_word = ballot(((known >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}
