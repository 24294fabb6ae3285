#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

struct Args {
    uint states;
    uint min_count;
    uint skip_nulls;
    uint pad;
};

// sum from the superaccumulators of all threadgroups, rounded once.
kernel void finish_sum_f32(
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
    out[0] = ok ? sum : 0ul;
    out_valid[0] = ok ? 1u : 0u;
}
