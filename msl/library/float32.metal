static inline bool sf32_isnan(uint a) {
    return (a & 0x7fffffffu) > 0x7f800000u;
}

// Orders all patterns, -0 below +0.
static inline uint sf32_total_key(uint a) {
    return (a & 0x80000000u) != 0u ? ~a : a | 0x80000000u;
}

static inline bool sf32_eq(uint a, uint b) {
    bool zero = ((a | b) & 0x7fffffffu) == 0u;
    return !sf32_isnan(a) && !sf32_isnan(b) && (a == b || zero);
}

static inline bool sf32_lt(uint a, uint b) {
    bool zero = ((a | b) & 0x7fffffffu) == 0u;
    return !sf32_isnan(a) && !sf32_isnan(b) && !zero && sf32_total_key(a) < sf32_total_key(b);
}

static inline bool sf32_le(uint a, uint b) {
    bool zero = ((a | b) & 0x7fffffffu) == 0u;
    return !sf32_isnan(a) && !sf32_isnan(b) && (zero || sf32_total_key(a) <= sf32_total_key(b));
}

#define SIGN_BIT 0x80000000u
#define QUIET_NAN 0x7fc00000u
#define INFINITE 0x7f800000u
#define ONE 0x3f800000u
#define BIAS 127
#define FRACTION 23
