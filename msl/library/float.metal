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
