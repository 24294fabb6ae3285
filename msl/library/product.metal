static inline T mul_checked(T a, T b, thread uint& bad) {
    P r = (P)a * (P)b;
    if ((P)(T)r != r) bad |= ERR_OVERFLOW;
    return (T)r;
}
