#include <metal_stdlib>
using namespace metal;

// The resident worker. The first threadgroup of a lane, its lead, looks at a ring of descriptors in memory that the CPU
// writes, and does each operation: alone if it is small, else together with the other members, to whom it relays the
// descriptor through the device's own memory, since looks across the bus get in each other's way.
//
// Whoever writes a word for another puts a sequence number into its high half, so a word says by itself whether it is
// there, and nobody orders one store before another. Loads and stores are volatile: they go past the first-level cache,
// which no other writer keeps up to date.

enum : uint {
    ringSlots = 64u,
    slotWords = 4u,    // a descriptor of two words, and its literal
    windowSlots = 8u,  // descriptors read at a look, and once more when all of them are there
    relaySlots = 256u,
    relayWords = 8u,   // a descriptor and its sequence number
    columnWords = 4u,  // values, validity, bits before the first row's, type
    columnCount = 256u,
    none = 255u,       // no column
    recordWords = 8u,
    maxMembers = 32u,
    chunkRows = 256u,  // of a SIMD-group: eight words of bits
    groups = 8u,       // SIMD-groups of a threadgroup
    looksPerStop = 64u,
    patience = 64u     // a member's looks at the relay for one of the lead's at the ring
};

enum : uint { typeI32 = 1u, typeU32, typeF32, typeI64, typeU64, typeF64 }; // from typeI64 on of eight bytes

enum : uint {
    opBindValues = 1u, // the literal is the address of a column's values, the rows its type
    opBindValid,       // the literal is the address of its validity, the rows the bits before the first row's
    opLeave,           // from lead to members
    opSum = 16u,
    opMinMax,
    opCount,
    opEqual = 32u, // the three low bits after the first of these say for which orders the answer is yes
    opNotEqual,
    opLess,
    opLessEqual,
    opGreater,
    opGreaterEqual,
    opAdd = 48u,
    opSubtract,
    opMultiply,
    opAddChecked,
    opSubtractChecked,
    opMultiplyChecked,
    opFilter = 64u,
    publish = 128u // flag: others than this lane read what the operation wrote
};

// The second word of a descriptor has the rows, and above them a flag: no record is wanted.
enum : uint { rowBits = 21u, quiet = 1u << 31 };

struct WorkerParams {
    uint first;   // sequence number of the first operation
    uint relay;   // and of the first relayed, whose numbers no launch before used
    uint members; // threadgroups of the lane
    uint solo;    // rows up to which the lead works alone
    uint idle;    // looks without work after which the kernel ends
    uint most;    // looks after which it ends in any case
};

static inline ulong shuffle_xor(ulong v, uint d) {
    uint2 w = as_type<uint2>(v);
    w.x = simd_shuffle_xor(w.x, d);
    w.y = simd_shuffle_xor(w.y, d);
    return as_type<ulong>(w);
}

// Four sums of 16 bits each: the SIMD-group adds words of 32 bits in one instruction.
static inline ulong simd_sum_long(ulong v) {
    uint2 w = as_type<uint2>(v);
    ulong a = simd_sum(w.x & 0xffffu), b = simd_sum(w.x >> 16), c = simd_sum(w.y & 0xffffu), d = simd_sum(w.y >> 16);
    return a + (b << 16) + (c << 32) + (d << 48);
}

// How many of the first descriptors of a window are there whole, by a bit for each of their words.
static inline uint whole(uint got) {
    got &= got >> 1;
    got &= (got >> 2) & 0x11111111u;
    return ctz(~(got * 15u)) >> 2;
}

static inline ulong extend(uint v, uint type) { return type == typeI32 ? (ulong)(long)(int)v : (ulong)v; }

static inline bool is_nan(ulong v, uint type) {
    return type == typeF64 ? (v << 1) > 0xffe0000000000000ul : type == typeF32 && ((uint)v << 1) > 0xff000000u;
}

// Unsigned numbers in the order of the values; -0 before 0.
static inline ulong order(ulong v, uint type) {
    switch (type) {
    case typeI32:
    case typeI64: return v ^ 0x8000000000000000ul;
    case typeF32: return (uint)v >> 31 != 0u ? (ulong)(~(uint)v) : (ulong)((uint)v | 0x80000000u);
    case typeF64: return v >> 63 != 0ul ? ~v : v | 0x8000000000000000ul;
    }
    return v;
}

// -0 as 0, for comparisons.
static inline ulong one_zero(ulong v, uint type) {
    bool zero = (type == typeF64 && v << 1 == 0ul) || (type == typeF32 && (uint)v << 1 == 0u);
    return zero ? 0ul : v;
}

// The orders, as bits, for which a comparison says yes: less, equal, greater, and one of them is NaN.
static inline uint wanted(uint op) {
    switch (op) {
    case opEqual: return 2u;
    case opNotEqual: return 13u;
    case opLess: return 1u;
    case opLessEqual: return 3u;
    case opGreater: return 4u;
    }
    return 6u;
}

static inline bool compare_keys(ulong x, ulong y, uint want) {
    uint is = x < y ? 1u : x == y ? 2u : 4u;
    return (want & is) != 0u;
}

static inline bool compare_floats(ulong a, ulong b, uint type, uint want) {
    if (is_nan(a, type) || is_nan(b, type)) return (want & 8u) != 0u;
    return compare_keys(order(one_zero(a, type), type), order(one_zero(b, type), type), want);
}

static inline ulong float_arithmetic(uint op, ulong a, ulong b, uint type) {
    if (type == typeF32) {
        float x = as_type<float>((uint)a), y = as_type<float>((uint)b);
        float r = op == opAdd ? x + y : op == opSubtract ? x - y : x * y;
        return (ulong)as_type<uint>(r);
    }
#ifdef __METAL_VERSION__ // has no double; the worker takes no such task there
    return 0ul;
#else
    double x = as_type<double>(a), y = as_type<double>(b);
    double r = op == opAdd ? x + y : op == opSubtract ? x - y : x * y;
    return as_type<ulong>(r);
#endif
}

static inline bool overflows(uint op, ulong a, ulong b, ulong r, uint type) {
    switch (type) {
    case typeI32: return (long)r != (long)(int)(uint)r;
    case typeU32: return r >> 32 != 0ul;
    case typeU64: return op == opAdd ? r < a : op == opSubtract ? a < b : mulhi(a, b) != 0ul;
    }
    if (op == opAdd) return ((a ^ r) & (b ^ r)) >> 63 != 0ul;
    if (op == opSubtract) return ((a ^ b) & (a ^ r)) >> 63 != 0ul;
    return mulhi((long)a, (long)b) != ((long)r < 0l ? -1l : 0l);
}

// Eight rows of a thread: first, first + 32, ...; 0 from end on. All loads are under way before the first is needed.
#define READ(v, at, type, first, end)                                                                                  \
    if ((type) >= typeI64) {                                                                                           \
        _Pragma("unroll") for (uint k = 0u; k < 8u; k++)                                                               \
            v[k] = (first) + k * 32u < (end) ? ((volatile device const ulong*)(at))[(first) + k * 32u] : 0ul;          \
    } else {                                                                                                           \
        uint narrow[8];                                                                                                \
        _Pragma("unroll") for (uint k = 0u; k < 8u; k++)                                                               \
            narrow[k] = (first) + k * 32u < (end) ? ((volatile device const uint*)(at))[(first) + k * 32u] : 0u;       \
        _Pragma("unroll") for (uint k = 0u; k < 8u; k++) v[k] = extend(narrow[k], type);                                                 \
    }

kernel void resident_worker(volatile device const ulong* ring [[buffer(0)]], volatile device ulong* records [[buffer(1)]],
                            volatile device ulong* relay [[buffer(2)]], volatile device ulong* bits [[buffer(3)]],
                            volatile device const uint* stop [[buffer(4)]], constant WorkerParams& p [[buffer(5)]],
                            uint member [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup ulong columns[columnCount * columnWords];
    threadgroup ulong window[2u * windowSlots * slotWords];
    threadgroup ulong partA[groups], partB[groups];
    threadgroup uint partN[groups], partM[groups], found[2];

    uint lane = tid & 31u, group = tid >> 5;
    uint next = member == 0u ? p.first : p.relay; // in the ring; of members, in the relay
    uint relayed = p.relay - 1u, looks = 0u, last = 0u;
    for (;;) {
        if (group == 0u && member == 0u) {
            uint ready = 0u;
            for (;;) {
                uint want = next + (lane >> 2);
                ulong w = ring[(want % ringSlots) * slotWords + (lane & 3u)];
                ready = whole((uint)(simd_vote::vote_t)simd_ballot((uint)(w >> 32) == want));
                if (ready != 0u) {
                    window[lane] = w;
                    if (ready == windowSlots) {
                        want += windowSlots;
                        w = ring[(want % ringSlots) * slotWords + (lane & 3u)];
                        ready += whole((uint)(simd_vote::vote_t)simd_ballot((uint)(w >> 32) == want));
                        window[32u + lane] = w;
                    }
                    last = looks;
                    break;
                }
                looks++;
                uint leave = looks - last > p.idle || looks > p.most ? 1u : 0u;
                if (looks % looksPerStop == 0u && lane == 0u) leave |= stop[0];
                if (simd_broadcast_first(leave) != 0u) break;
            }
            if (lane == 0u) found[0] = ready;
        } else if (group == 0u) {
            uint ready = 0u;
            for (;;) {
                ulong w = 0ul;
                if (lane <= slotWords) w = relay[(next % relaySlots) * relayWords + lane];
                if (simd_all(lane > slotWords || (uint)(w >> 32) == next)) {
                    if (lane < slotWords) window[lane] = w;
                    if (lane == slotWords) found[1] = (uint)w;
                    ready = 1u;
                    last = looks;
                    break;
                }
                looks++;
                if (looks - last > p.idle * patience || looks > p.most * patience) break;
            }
            if (lane == 0u) found[0] = ready;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint ready = found[0];
        if (ready == 0u) {
            if (member == 0u && p.members > 1u && tid <= slotWords) {
                relayed++;
                relay[(relayed % relaySlots) * relayWords + tid] = (ulong)relayed << 32 | (tid == 0u ? (ulong)opLeave : 0ul);
            }
            return;
        }
        for (uint d = 0u; d < ready; d++) {
            uint what = (uint)window[d * slotWords], rows = (uint)window[d * slotWords + 1u];
            uint seq = member == 0u ? next + d : found[1], n = rows & ((1u << rowBits) - 1u);
            ulong literal = (window[d * slotWords + 2u] & 0xfffffffful) | (window[d * slotWords + 3u] << 32);
            uint op = what & 127u, a = what >> 8 & 255u, b = what >> 16 & 255u, out = what >> 24;
            ulong tag = (ulong)seq << 32;
            if (member == 0u && p.members > 1u && (op < opSum || n > p.solo)) {
                relayed++;
                if (tid <= slotWords) {
                    ulong payload = tid < slotWords ? (window[d * slotWords + tid] & 0xfffffffful) : (ulong)seq;
                    relay[(relayed % relaySlots) * relayWords + tid] = (ulong)relayed << 32 | payload;
                }
            }
            if (op < opSum) {
                if (op == opLeave) return;
                if (tid == 0u && op == opBindValues) {
                    columns[a * columnWords] = literal;
                    columns[a * columnWords + 1u] = 0ul;
                    columns[a * columnWords + 3u] = (ulong)n;
                } else if (tid == 0u) {
                    columns[a * columnWords + 1u] = literal;
                    columns[a * columnWords + 2u] = (ulong)n;
                }
                threadgroup_barrier(mem_flags::mem_threadgroup);
                continue;
            }
            uint lo = 0u, hi = n;
            if (n > p.solo) {
                uint share = ((n + p.members - 1u) / p.members + chunkRows - 1u) / chunkRows * chunkRows;
                lo = min(member * share, n);
                hi = min(lo + share, n);
            } else if (member != 0u) {
                hi = 0u;
            }
            if (lo >= hi) continue;

            ulong valuesA = columns[a * columnWords], validA = columns[a * columnWords + 1u];
            uint validOff = (uint)columns[a * columnWords + 2u], type = (uint)columns[a * columnWords + 3u];
            ulong valuesB = columns[b * columnWords], to = columns[out * columnWords];
            ulong accA = op == opMinMax ? ~0ul : 0ul, accB = 0ul;
            uint accN = 0u, accM = 0u, before = 0u;
            if (op == opFilter && lo > 0u) { // rows kept before this member's
                for (uint i = tid; i < lo / 32u; i += groups * 32u) before += popcount(((volatile device const uint*)valuesB)[i]);
                before = simd_sum(before);
                if (lane == 0u) partN[group] = before;
                threadgroup_barrier(mem_flags::mem_threadgroup);
                before = 0u;
                for (uint g = 0u; g < groups; g++) before += partN[g];
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            for (uint pass = lo; pass < hi; pass += groups * chunkRows) {
                uint chunk = pass + group * chunkRows, row = chunk + lane;
                ulong v[8];
                if (op != opCount) { READ(v, valuesA, type, row, hi) }
                if (op <= opCount) {
#pragma unroll
                    for (uint k = 0u; k < 8u; k++) {
                        uint j = row + k * 32u;
                        bool ok = j < hi;
                        if (ok && validA != 0ul) {
                            uint bit = validOff + j;
                            ok = (((volatile device const uchar*)validA)[bit >> 3] >> (bit & 7u) & 1u) != 0u;
                        }
                        if (!ok) continue;
                        accN++;
                        if (op == opSum) {
                            accA += v[k];
                        } else if (op == opMinMax) {
                            if (is_nan(v[k], type)) {
                                accM++;
                            } else {
                                ulong key = order(v[k], type);
                                accA = min(accA, key);
                                accB = max(accB, key);
                            }
                        }
                    }
                } else if (op < opFilter) {
                    ulong u[8];
                    if (b == none) {
                        for (uint k = 0u; k < 8u; k++) u[k] = literal;
                    } else {
                        READ(u, valuesB, type, row, hi)
                    }
                    if (op < opAdd) {
                        uint mine = 0u, want = wanted(op);
                        bool isFloat = type == typeF32 || type == typeF64;
                        ulong flip = type == typeI32 || type == typeI64 ? 0x8000000000000000ul : 0ul;
#pragma unroll
                        for (uint k = 0u; k < 8u; k++) {
                            bool yes = isFloat ? compare_floats(v[k], u[k], type, want) : compare_keys(v[k] ^ flip, u[k] ^ flip, want);
                            uint word = (uint)(simd_vote::vote_t)simd_ballot(row + k * 32u < hi && yes);
                            if (lane == k) mine = word;
                        }
                        if (lane < 8u && chunk + lane * 32u < hi) {
                            if (out == none) {
                                bits[chunk / 32u + lane] = tag | (ulong)mine;
                            } else {
                                ((volatile device uint*)to)[chunk / 32u + lane] = mine;
                            }
                        }
                    } else {
                        bool checked = op >= opAddChecked;
                        uint plain = checked ? op - 3u : op;
#pragma unroll
                        for (uint k = 0u; k < 8u; k++) {
                            uint j = row + k * 32u;
                            ulong r;
                            if (type == typeF32 || type == typeF64) {
                                r = float_arithmetic(plain, v[k], u[k], type);
                            } else {
                                r = plain == opAdd ? v[k] + u[k] : plain == opSubtract ? v[k] - u[k] : v[k] * u[k];
                                if (checked && j < hi && overflows(plain, v[k], u[k], r, type)) accM++;
                            }
                            if (j >= hi) continue;
                            if (type >= typeI64) {
                                ((volatile device ulong*)to)[j] = r;
                            } else {
                                ((volatile device uint*)to)[j] = (uint)r;
                            }
                        }
                    }
                } else {
                    uint mask = 0u;
                    if (lane < 8u && chunk + lane * 32u < hi) {
                        mask = ((volatile device const uint*)valuesB)[chunk / 32u + lane];
                        uint left = hi - chunk - lane * 32u;
                        if (left < 32u) mask &= (1u << left) - 1u;
                    }
                    uint kept = simd_sum(popcount(mask));
                    if (lane == 0u) partN[group] = kept;
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                    uint all = 0u, at = before;
                    for (uint g = 0u; g < groups; g++) {
                        if (g == group) at += all;
                        all += partN[g];
                    }
#pragma unroll
                    for (uint k = 0u; k < 8u; k++) {
                        uint word = simd_shuffle(mask, k);
                        if ((word >> lane & 1u) != 0u) {
                            uint j = at + popcount(word & ((1u << lane) - 1u));
                            if (type >= typeI64) {
                                ((volatile device ulong*)to)[j] = v[k];
                            } else {
                                ((volatile device uint*)to)[j] = (uint)v[k];
                            }
                        }
                        at += popcount(word);
                    }
                    before += all;
                    if (tid == 0u) accN += all;
                    threadgroup_barrier(mem_flags::mem_threadgroup);
                }
            }
            if (op >= opEqual && op < opAdd && out == none) continue; // its words tell
            if ((rows & quiet) != 0u) {
                threadgroup_barrier(mem_flags::mem_device);
                continue;
            }

            if (op == opSum) {
                accA = simd_sum_long(accA);
            } else if (op == opMinMax) {
                for (uint s = 16u; s > 0u; s >>= 1) {
                    accA = min(accA, shuffle_xor(accA, s));
                    accB = max(accB, shuffle_xor(accB, s));
                }
            }
            accN = simd_sum(accN);
            accM = simd_sum(accM);
            if (lane == 0u) {
                partA[group] = accA;
                partB[group] = accB;
                partN[group] = accN;
                partM[group] = accM;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (group == 0u) {
                bool mine = lane < groups;
                accA = partA[lane & 7u];
                accB = partB[lane & 7u];
                accN = simd_sum(mine ? partN[lane] : 0u);
                accM = simd_sum(mine ? partM[lane] : 0u);
                if (op == opSum) {
                    accA = simd_sum_long(mine ? accA : 0ul);
                } else if (op == opMinMax) {
                    for (uint s = 4u; s > 0u; s >>= 1) {
                        accA = min(accA, shuffle_xor(accA, s));
                        accB = max(accB, shuffle_xor(accB, s));
                    }
                }
                if ((what & publish) != 0u) atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_system);
                if (lane < recordWords) {
                    // A's halves, N, M, B's halves
                    ulong full = lane < 2u ? accA : lane == 2u ? (ulong)accN : lane == 3u ? (ulong)accM : accB;
                    uint half = (lane & 1u) != 0u && lane != 3u ? (uint)(full >> 32) : (uint)full;
                    records[((seq % ringSlots) * maxMembers + member) * recordWords + lane] = tag | (ulong)half;
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        next += member == 0u ? ready : 1u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
