static inline T mul_checked(T a, T b, thread uint& bad) {
    ulong hi = mul_high((ulong)a, (ulong)b) - (a < 0 ? (ulong)b : 0ul) - (b < 0 ? (ulong)a : 0ul);
    T r = mul_wrap(a, b);
    if (hi != (r < 0 ? ~0ul : 0ul)) bad |= ERR_OVERFLOW;
    return r;
}
