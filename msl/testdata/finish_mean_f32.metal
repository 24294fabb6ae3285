#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

#define SF64_SIGN   0x8000000000000000ul

#define SF64_INF    0x7ff0000000000000ul

#define SF64_NAN    0x7ff8000000000000ul

#define SF64_FRAC   0x000ffffffffffffful

#define SF64_HIDDEN 0x0010000000000000ul

static inline uint sf64_clz(ulong x) {
    uint hi = (uint)(x >> 32);
    return hi != 0u ? (uint)clz(hi) : 32u + (uint)clz((uint)x);
}

static inline bool sf64_isnan(ulong a) {
    return (a & ~SF64_SIGN) > SF64_INF;
}

static inline ulong sf64_shift_jam(ulong x, uint n) {
    n = n < 63u ? n : 63u;
    ulong s = x >> n;
    return s | (ulong)((s << n) != x);
}

// e >= 1; a significand without bit 63 is subnormal and has e == 1.
static inline ulong sf64_round(int e, ulong sig) {
    uint up = (((uint)sig & 0x7ffu) + 0x3ffu + ((uint)(sig >> 11) & 1u)) >> 11;
    ulong mag = ((ulong)(e - 1) << 52) + (sig >> 11) + (ulong)up;
    return mag < SF64_INF ? mag : SF64_INF;
}

static inline ulong sf64_round_tiny(int e, ulong sig) {
    if (e < 1) {
        sig = sf64_shift_jam(sig, (uint)(1 - e));
        e = 1;
    }
    return sf64_round(e, sig);
}

// The high half of the product; jam makes its bit 0 sticky for the low half.
static inline ulong sf64_mul_high(ulong a, ulong b, bool jam) {
    ulong al = a & 0xfffffffful, ah = a >> 32;
    ulong bl = b & 0xfffffffful, bh = b >> 32;
    ulong p = al * bl;
    ulong q = ah * bl + (p >> 32);
    ulong r = al * bh + (q & 0xfffffffful);
    ulong hi = ah * bh + (q >> 32) + (r >> 32);
    return hi | (ulong)(jam && ((uint)p | (uint)r) != 0u);
}

static inline uint sf64_recip_step(uint d, uint r) {
    uint t = (uint)(((ulong)d * r) >> 32);
    return (uint)(((ulong)r * (~t - 1u)) >> 31);
}

// floor-like 2^127 / d for d >= 2^63, from below, relative error under 2^-57.
static inline ulong sf64_recip(ulong d) {
    uint dh = (uint)(d >> 32);
    uint r = 0x69696969u - (uint)(((ulong)dh * 0xf0f0f0f1u) >> 32);
    r = sf64_recip_step(dh, r);
    r = sf64_recip_step(dh, r);
    r = sf64_recip_step(dh, r);
    ulong dr = (ulong)dh * r + (((d & 0xfffffffful) * r) >> 32);
    ulong err = (SF64_SIGN - 1ul - dr) >> 2;
    return ((ulong)r << 32) + (((ulong)r * err) >> 29);
}

static inline ulong sf64_div(ulong a, ulong b) {
    ulong sign = (a ^ b) & SF64_SIGN;
    uint ea = (uint)(a >> 52) & 0x7ffu;
    uint eb = (uint)(b >> 52) & 0x7ffu;
    ulong sa = a & SF64_FRAC;
    ulong sb = b & SF64_FRAC;
    int e = (int)ea - (int)eb + 1023;
    if (ea - 1u >= 0x7feu || eb - 1u >= 0x7feu) {
        bool za = (a & ~SF64_SIGN) == 0ul;
        bool zb = (b & ~SF64_SIGN) == 0ul;
        bool ia = ea == 0x7ffu;
        bool ib = eb == 0x7ffu;
        bool bad = sf64_isnan(a) || sf64_isnan(b) || (za && zb) || (ia && ib);
        if (bad) return SF64_NAN;
        if (ia || zb) return sign | SF64_INF;
        if (za || ib) return sign;
        uint na = ea == 0u ? sf64_clz(sa) - 11u : 0u;
        uint nb = eb == 0u ? sf64_clz(sb) - 11u : 0u;
        sa <<= na;
        sb <<= nb;
        e += (int)(ea == 0u) - (int)(eb == 0u) - (int)na + (int)nb;
    }
    sa |= SF64_HIDDEN;
    sb |= SF64_HIDDEN;
    uint n = sa < sb ? 1u : 0u;
    sa <<= n;
    ulong q = sf64_mul_high(sa << 2, sf64_recip(sb << 11), false);
    ulong rem = (sa << 54) - q * sb;
    bool low = rem >= sb;
    q += (ulong)low;
    rem -= low ? sb : 0ul;
    return sign | sf64_round_tiny(e - (int)n, (q << 9) | (ulong)(rem != 0ul));
}

static inline ulong sf64_from_ulong(ulong x) {
    if (x == 0ul) return 0ul;
    uint n = sf64_clz(x);
    return sf64_round((int)(1086u - n), x << n);
}

struct Args {
    uint states;
    uint min_count;
    uint skip_nulls;
    uint pad;
};

// mean from the superaccumulators of all threadgroups, rounded once.
kernel void finish_mean_f32(
    device const ulong* partials [[buffer(0)]],
    device ulong* out [[buffer(1)]],
    device uint* out_valid [[buffer(2)]],
    constant Args& p [[buffer(4)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    threadgroup ulong parts[8 * 137];
    threadgroup ulong word[137]; // the words of a state, summed over the states
    threadgroup uint lowest[8];
    threadgroup uint highest[8];
    if (group_index(tg) != 0ul) return;
    uint tid = sg * 32u + lane;
    for (uint w = lane; w < 137u; w += 32u) {
        ulong sum = 0ul;
        for (uint i = sg; i < p.states; i += 8u) sum += partials[(ulong)i * 137ul + (ulong)w];
        parts[sg * 137u + w] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint low = 132u; // the range of digits that are not zero
    uint high = 0u;
    if (tid < 137u) {
        ulong sum = 0ul;
        for (uint i = 0u; i < 8u; i++) sum += parts[i * 137u + tid];
        word[tid] = sum;
        if (tid >= 5u && sum != 0ul) {
            low = tid - 5u;
            high = low + 1u;
        }
    }
    low = simd_min(low);
    high = simd_max(high);
    if (lane == 0u) {
        lowest[sg] = low;
        highest[sg] = high;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid != 0u) return;
    for (uint i = 1u; i < 8u; i++) {
        low = min(low, lowest[i]);
        high = max(high, highest[i]);
    }

    // Carries: digits become 16 bits each; what is left over goes to the digits above.
    long carry = 0;
    for (uint i = low; i < high; i++) {
        long d = (long)word[5u + i] + carry;
        word[5u + i] = (ulong)d & 0xfffful;
        carry = d >> 16;
    }
    bool negative = carry < 0;
    if (negative) {
        ulong one = 1ul;
        for (uint i = low; i < high; i++) {
            ulong d = (word[5u + i] ^ 0xfffful) + one;
            word[5u + i] = d & 0xfffful;
            one = d >> 16;
        }
        carry = ~carry + (long)one;
    }
    for (; carry != 0 && high < 132u; high++) {
        word[5u + high] = (ulong)carry & 0xfffful;
        carry >>= 16;
    }

    uint top = high == 0u ? 0u : high - 1u;
    while (top > low && word[5u + top] == 0ul) top--;
    // The 64 bits from digit top down, and whether any bit below them is set.
    ulong bits = 0ul;
    ulong below = 0ul;
    for (uint i = 0u; i <= top && top - i >= low; i++) {
        ulong d = word[5u + top - i];
        if (i < 4u) bits |= d << (48u - 16u * i);
        else below |= i == 4u ? d << 1 : (ulong)(d != 0ul);
    }
    ulong sum;
    if (carry != 0) {
        sum = 0x7ff0000000000000ul;
    } else if (bits == 0ul) {
        sum = 0ul;
    } else {
        // Leading one to bit 63. Digit 4, shifted by one, gives the bits that move in.
        uint shift = (uint)clz((uint)(bits >> 32));
        bits = (bits << shift) | (below >> (17u - shift));
        below &= (1ul << (17u - shift)) - 1ul;
        uint place = 16u * top + 15u - shift; // weight of the leading one: 2^(place - 1074)
        if (place < 53u) {
            sum = bits >> (63u - place); // exact, subnormal or of the smallest exponent
        } else {
            // 53 bits, to nearest, ties to even.
            ulong rest = (bits & 0x7fful) | (ulong)(below != 0ul);
            ulong up = (rest + 0x3fful + ((bits >> 11) & 1ul)) >> 11;
            sum = ((ulong)(place - 52u) << 52) + (bits >> 11) + up;
            if (sum > 0x7ff0000000000000ul) sum = 0x7ff0000000000000ul;
        }
    }
    if (negative) sum |= 0x8000000000000000ul;

    bool pos_inf = word[3] != 0ul;
    bool neg_inf = word[4] != 0ul;
    if (pos_inf) sum = 0x7ff0000000000000ul;
    if (neg_inf) sum = 0xfff0000000000000ul;
    if (word[2] != 0ul || (pos_inf && neg_inf)) sum = 0x7ff8000000000000ul;

    ulong rows = word[0];
    ulong valid = word[1];
    bool ok = valid >= (ulong)p.min_count && (p.skip_nulls != 0u || valid == rows);
    out[0] = ok ? sf64_div(sum, sf64_from_ulong(valid)) : 0ul;
    out_valid[0] = ok ? 1u : 0u;
}
