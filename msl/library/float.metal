struct T {
    U bits;
};

static inline T operator+(T a, T b) {
    return T{sf_add(a.bits, b.bits)};
}

static inline T operator-(T a, T b) {
    return T{sf_sub(a.bits, b.bits)};
}

static inline T operator-(T a) {
    return T{a.bits ^ SIGN_BIT};
}

static inline T operator*(T a, T b) {
    return T{sf_mul(a.bits, b.bits)};
}

static inline T operator/(T a, T b) {
    return T{sf_div(a.bits, b.bits)};
}

static inline bool operator==(T a, T b) {
    return sf_eq(a.bits, b.bits);
}

static inline bool operator!=(T a, T b) {
    return !sf_eq(a.bits, b.bits);
}

static inline bool operator<(T a, T b) {
    return sf_lt(a.bits, b.bits);
}

static inline bool operator<=(T a, T b) {
    return sf_le(a.bits, b.bits);
}

static inline bool operator>(T a, T b) {
    return sf_lt(b.bits, a.bits);
}

static inline bool operator>=(T a, T b) {
    return sf_le(b.bits, a.bits);
}

static inline T add_wrap(T a, T b) {
    return T{sf_add(a.bits, b.bits)};
}

static inline T sub_wrap(T a, T b) {
    return T{sf_sub(a.bits, b.bits)};
}

static inline T mul_wrap(T a, T b) {
    return T{sf_mul(a.bits, b.bits)};
}

static inline T div_wrap(T a, T b, thread uint&) {
    return T{sf_div(a.bits, b.bits)};
}

static inline T neg_wrap(T a) {
    return T{a.bits ^ SIGN_BIT};
}

static inline T abs_wrap(T a) {
    return T{a.bits & ~SIGN_BIT};
}

static inline T add_checked(T a, T b, thread uint&) {
    return add_wrap(a, b);
}

static inline T sub_checked(T a, T b, thread uint&) {
    return sub_wrap(a, b);
}

static inline T mul_checked(T a, T b, thread uint&) {
    return mul_wrap(a, b);
}

static inline T div_checked(T a, T b, thread uint& bad) {
    if ((b.bits & ~SIGN_BIT) == 0) bad |= ERR_DIVIDE_BY_ZERO;
    return div_wrap(a, b, bad);
}

static inline T neg_checked(T a, thread uint&) {
    return neg_wrap(a);
}

static inline T abs_checked(T a, thread uint&) {
    return abs_wrap(a);
}

static inline bool is_nan(T a) {
    return sf_isnan(a.bits);
}

// An unsigned integer that orders like a, -0 below +0.
static inline ulong order_key(T a) {
    return (ulong)sf_total_key(a.bits);
}

static inline T from_order_key(ulong k) {
    U b = (U)k;
    return T{(b & SIGN_BIT) != 0 ? b ^ SIGN_BIT : ~b};
}

static inline bool is_inf(T a) {
    return (a.bits & ~SIGN_BIT) == INFINITE;
}

static inline bool is_finite(T a) {
    return (a.bits & ~SIGN_BIT) < INFINITE;
}

// NaN for NaN.
static inline T sign_of(T a) {
    U size = a.bits & ~SIGN_BIT;
    if (size > INFINITE) return a;
    return T{size == 0 ? size : (a.bits & SIGN_BIT) | ONE};
}

static inline T root(T a) {
    return T{sf_sqrt(a.bits)};
}

static inline T root_checked(T a, thread uint& bad) {
    if (a.bits > SIGN_BIT && (a.bits & ~SIGN_BIT) <= INFINITE) bad |= ERR_NEGATIVE_ROOT;
    return root(a);
}

// An integer near a, with a's sign: the mode is the floor (0), the ceiling, towards zero, away from it, or the nearest,
// where ties go down (4), up, towards zero, away from it, to the even or to the odd one (9).
static inline T integral(T a, uint mode) {
    U sign = a.bits & SIGN_BIT, size = a.bits ^ sign;
    if (size == 0 || size >= (U)(BIAS + FRACTION) << FRACTION) return a;
    U whole = 0, step = ONE;
    bool odd = false, tie, more;
    if (size < ONE) {
        U middle = (U)(BIAS - 1) << FRACTION;
        tie = size == middle;
        more = size > middle;
    } else {
        uint places = (uint)(BIAS + FRACTION) - (uint)(size >> FRACTION);
        step = (U)1 << places;
        U rest = size & (step - 1);
        if (rest == 0) return a;
        whole = size - rest;
        odd = (size & step) != 0;
        tie = rest == step >> 1;
        more = rest > step >> 1;
    }
    bool away = mode == 3u || mode == 7u || mode == (sign != 0 ? 0u : 1u) || mode == (sign != 0 ? 4u : 5u) ||
                mode == (odd ? 8u : 9u);
    if (mode >= 4u && !tie) away = more;
    return T{sign | (away ? whole + step : whole)};
}

// Rounds to multiples of unit, or with 16 in the mode to multiples of one unit-th. Multiples stay as they are.
static inline T round_to(T a, T unit, uchar mode, thread uint& bad) {
    U sign = a.bits & SIGN_BIT;
    if ((a.bits & ~SIGN_BIT) >= INFINITE) return a;
    bool up = (mode & 16u) != 0u;
    T scaled = T{up ? sf_mul(a.bits, unit.bits) : sf_div(a.bits, unit.bits)};
    if ((scaled.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    bool tiny = (scaled.bits & ~SIGN_BIT) == 0 && a.bits != sign; // only the sign is left of it
    if (tiny) scaled = T{sign | 1};
    T r = integral(scaled, (uint)(mode & 15u));
    if (r.bits == scaled.bits) return a;
    if ((r.bits & ~SIGN_BIT) != 0) r = T{up ? sf_div(r.bits, unit.bits) : sf_mul(r.bits, unit.bits)};
    if ((r.bits & ~SIGN_BIT) >= INFINITE) {
        bad |= ERR_OVERFLOW;
        return a;
    }
    return r;
}
