#include <metal_stdlib>
using namespace metal;

#define ERR_OVERFLOW 1u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

static inline ulong sf64_mul(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) * as_type<double>(b));
}

static inline ulong sf64_div(ulong a, ulong b) {
    return as_type<ulong>(as_type<double>(a) / as_type<double>(b));
}

#define SIGN_BIT 0x8000000000000000ul

#define INFINITE 0x7ff0000000000000ul

#define ONE 0x3ff0000000000000ul

#define BIAS 1023

#define FRACTION 52

struct f64 {
    ulong bits;
};

// An integer near a, with a's sign: the mode is the floor (0), the ceiling, towards zero, away from it, or the nearest,
// where ties go down (4), up, towards zero, away from it, to the even or to the odd one (9).
static inline f64 integral(f64 a, uint mode) {
    ulong sign = a.bits & SIGN_BIT, size = a.bits ^ sign;
    if (size == 0 || size >= (ulong)(BIAS + FRACTION) << FRACTION) return a;
    ulong whole = 0, step = ONE;
    bool odd = false, tie, more;
    if (size < ONE) {
        ulong middle = (ulong)(BIAS - 1) << FRACTION;
        tie = size == middle;
        more = size > middle;
    } else {
        uint places = (uint)(BIAS + FRACTION) - (uint)(size >> FRACTION);
        step = (ulong)1 << places;
        ulong rest = size & (step - 1);
        if (rest == 0) return a;
        whole = size - rest;
        odd = (size & step) != 0;
        tie = rest == step >> 1;
        more = rest > step >> 1;
    }
    bool away = mode == 3u || mode == 7u || mode == (sign != 0 ? 0u : 1u) || mode == (sign != 0 ? 4u : 5u) ||
                mode == (odd ? 8u : 9u);
    if (mode >= 4u && !tie) away = more;
    return f64{sign | (away ? whole + step : whole)};
}

// Rounds to multiples of unit, or with 16 in the mode to multiples of one unit-th. Multiples stay as they are.
static inline f64 round_to(f64 a, f64 unit, uchar mode, thread uint& bad) {
    ulong sign = a.bits & SIGN_BIT;
    if ((a.bits & ~SIGN_BIT) >= INFINITE) return a;
    bool up = (mode & 16u) != 0u;
    f64 scaled = f64{up ? sf64_mul(a.bits, unit.bits) : sf64_div(a.bits, unit.bits)};
    if ((scaled.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    bool tiny = (scaled.bits & ~SIGN_BIT) == 0 && a.bits != sign; // only the sign is left of it
    if (tiny) scaled = f64{sign | 1};
    f64 r = integral(scaled, (uint)(mode & 15u));
    if (r.bits == scaled.bits) return a;
    if ((r.bits & ~SIGN_BIT) != 0) r = f64{up ? sf64_div(r.bits, unit.bits) : sf64_mul(r.bits, unit.bits)};
    if ((r.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    return r;
}

struct Args {
    ulong n;
    ulong a_off;
    ulong b_off;
    ulong c_off;
    ulong a_valid;
    ulong b_valid;
    ulong c_valid;
    uint a_stride;
    uint b_stride;
    uint c_stride;
    uint pad;
};

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// out = round_to(a, b, c, bad)
kernel void round_f64_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_cnulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        if (live) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_cnulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bnulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bcnulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bnulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_bcnulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live;
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_anulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_acnulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_anulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_acnulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live;
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_abnulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_nulls_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_abnulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live;
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}

// out = round_to(a, b, c, bad)
kernel void round_f64_nulls_pending_native(
    device const ulong* a_in [[buffer(0)]],
    device const uint* a_valid [[buffer(1)]],
    device const ulong* b_in [[buffer(2)]],
    device const uint* b_valid [[buffer(3)]],
    device ulong* out [[buffer(4)]],
    device uint* out_valid [[buffer(5)]],
    device atomic_uint* error [[buffer(6)]],
    device const ulong* len [[buffer(7)]],
    constant Args& p [[buffer(8)]],
    device const uchar* c_in [[buffer(9)]],
    device const uint* c_valid [[buffer(10)]],
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
        bool live = row < n;
        f64 a = f64{live ? a_in[p.a_off + row * p.a_stride] : (ulong)0};
        bool va = live && bit_at(a_valid, p.a_valid + row * p.a_stride);
        f64 b = f64{live ? b_in[p.b_off + row * p.b_stride] : (ulong)0};
        bool vb = live && bit_at(b_valid, p.b_valid + row * p.b_stride);
        uchar c = live ? c_in[p.c_off + row * p.c_stride] : (uchar)0;
        bool vc = live && bit_at(c_valid, p.c_valid + row * p.c_stride);
        uint bad = 0u;
        f64 r = round_to(a, b, c, bad);
        bool v = live && (va && vb && vc);
        if (v) err |= bad;
        if (row < p.n) out[row] = live ? r.bits : 0;
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
    }
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
}
