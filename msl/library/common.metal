#define ERR_OVERFLOW 1u
#define ERR_DIVIDE_BY_ZERO 2u
#define ERR_INDEX 4u
#define ERR_NEGATIVE_ROOT 8u
#define ERR_SHIFT 16u

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

// Bit i of a bitmap.
static inline bool bit_at(device const uint* p, ulong i) {
    return ((p[i >> 5] >> ((uint)i & 31u)) & 1u) != 0u;
}

// The n lowest bits set, n from 1 to 32.
static inline uint low_bits(uint n) {
    return 0xffffffffu >> (32u - n);
}

// n bits of a bitmap from bit i on, n from 1 to 32. Reads no word beyond the last of these bits.
static inline uint bits_at(device const uint* p, ulong i, uint n) {
    uint s = (uint)i & 31u;
    uint w = p[i >> 5] >> s;
    if (s + n > 32u) w |= p[(i >> 5) + 1ul] << (32u - s);
    return w & low_bits(n);
}

// One bit a lane.
static inline uint ballot(bool b) {
    return (uint)(simd_vote::vote_t)simd_ballot(b);
}

// The value of the lane whose number differs by the bits of d.
static inline ulong shuffle_xor(ulong v, ushort d) {
    return as_type<ulong>(simd_shuffle_xor(as_type<uint2>(v), d));
}

// The sum of the lanes up to this one.
static inline ulong prefix_sum(ulong v, uint lane) {
    for (ushort d = 1; d < 32; d <<= 1) {
        ulong below = as_type<ulong>(simd_shuffle_up(as_type<uint2>(v), d));
        if (lane >= (uint)d) v += below;
    }
    return v;
}

// The high half of a product.
static inline ulong mul_high(ulong a, ulong b) {
    ulong al = a & 0xfffffffful, ah = a >> 32;
    ulong bl = b & 0xfffffffful, bh = b >> 32;
    ulong q = ah * bl + ((al * bl) >> 32);
    ulong r = al * bh + (q & 0xfffffffful);
    return ah * bh + (q >> 32) + (r >> 32);
}
