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
