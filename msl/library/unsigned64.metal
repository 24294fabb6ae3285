static inline T mul_checked(T a, T b, thread uint& bad) {
    if (mul_high(a, b) != 0ul) bad |= ERR_OVERFLOW;
    return mul_wrap(a, b);
}
