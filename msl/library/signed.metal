static inline T add_wrap(T a, T b) {
    return (T)((W)a + (W)b);
}

static inline T sub_wrap(T a, T b) {
    return (T)((W)a - (W)b);
}

static inline T mul_wrap(T a, T b) {
    return (T)((W)a * (W)b);
}

static inline T neg_wrap(T a) {
    return (T)((W)0 - (W)a);
}

static inline T abs_wrap(T a) {
    return a < 0 ? neg_wrap(a) : a;
}

// The smallest value by -1 is 0.
static inline T div_wrap(T a, T b, thread uint& bad) {
    if (b == 0) {
        bad |= ERR_DIVIDE_BY_ZERO;
        return 0;
    }
    if (b == -1) return a == MIN ? (T)0 : neg_wrap(a);
    return (T)(a / b);
}

static inline T add_checked(T a, T b, thread uint& bad) {
    T r = add_wrap(a, b);
    if (((a ^ r) & (b ^ r)) < 0) bad |= ERR_OVERFLOW;
    return r;
}

static inline T sub_checked(T a, T b, thread uint& bad) {
    T r = sub_wrap(a, b);
    if (((a ^ b) & (a ^ r)) < 0) bad |= ERR_OVERFLOW;
    return r;
}

static inline T div_checked(T a, T b, thread uint& bad) {
    if (a == MIN && b == -1) bad |= ERR_OVERFLOW;
    return div_wrap(a, b, bad);
}

static inline T neg_checked(T a, thread uint& bad) {
    if (a == MIN) bad |= ERR_OVERFLOW;
    return neg_wrap(a);
}

static inline T abs_checked(T a, thread uint& bad) {
    if (a == MIN) bad |= ERR_OVERFLOW;
    return abs_wrap(a);
}

static inline bool is_nan(T) {
    return false;
}

// An unsigned integer that orders like a.
static inline ulong order_key(T a) {
    return (ulong)(long)a ^ 0x8000000000000000ul;
}

static inline T from_order_key(ulong k) {
    return (T)(long)(k ^ 0x8000000000000000ul);
}

static inline char sign_of(T a) {
    return a > 0 ? (char)1 : a < 0 ? (char)-1 : (char)0;
}

// Shifts by less than zero or by as many bits as a number has do nothing.
static inline T shift_left(T a, T b) {
    return b < 0 || b >= BITS ? a : (T)((W)a << (uint)b);
}

static inline T shift_right(T a, T b) {
    return b < 0 || b >= BITS ? a : (T)(a >> (uint)b);
}

static inline T shift_left_checked(T a, T b, thread uint& bad) {
    if (b < 0 || b >= BITS) bad |= ERR_SHIFT;
    return shift_left(a, b);
}

static inline T shift_right_checked(T a, T b, thread uint& bad) {
    if (b < 0 || b >= BITS) bad |= ERR_SHIFT;
    return shift_right(a, b);
}

static inline bool is_inf(T) {
    return false;
}

static inline bool is_finite(T) {
    return true;
}
