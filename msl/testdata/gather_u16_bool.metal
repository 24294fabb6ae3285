#include <metal_stdlib>
using namespace metal;

#define ERR_INDEX 4u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

struct Args {
    ulong n;
    ulong off;
    ulong valid;
    ulong dict;
    ulong dict_valid;
    ulong dict_len;
};

// out[row] = dict[index[row]]
kernel void gather_u16_bool(
    device const ushort* index [[buffer(0)]],
    device const uint* dict [[buffer(2)]],
    device uint* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n;
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_pending(
    device const ushort* index [[buffer(0)]],
    device const uint* dict [[buffer(2)]],
    device uint* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = len[0] < p.n ? len[0] : p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n;
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_bnulls(
    device const ushort* index [[buffer(0)]],
    device const uint* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device uint* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n;
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        v = v && bit_at(dict_valid, p.dict_valid + at);
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_bnulls_pending(
    device const ushort* index [[buffer(0)]],
    device const uint* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device uint* out [[buffer(4)]],
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
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n;
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        v = v && bit_at(dict_valid, p.dict_valid + at);
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_anulls(
    device const ushort* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const uint* dict [[buffer(2)]],
    device uint* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_anulls_pending(
    device const ushort* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const uint* dict [[buffer(2)]],
    device uint* out [[buffer(4)]],
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
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_nulls(
    device const ushort* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const uint* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device uint* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong n = p.n;
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        v = v && bit_at(dict_valid, p.dict_valid + at);
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

// out[row] = dict[index[row]]
kernel void gather_u16_bool_nulls_pending(
    device const ushort* index [[buffer(0)]],
    device const uint* valid [[buffer(1)]],
    device const uint* dict [[buffer(2)]],
    device const uint* dict_valid [[buffer(3)]],
    device uint* out [[buffer(4)]],
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
    uint err = 0u;
    for (uint i = 0u; i < 8u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * 2048ul + (ulong)(i * 256u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n && bit_at(valid, p.valid + row);
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
        v = v && bit_at(dict_valid, p.dict_valid + at);
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}
