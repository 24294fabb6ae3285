// Decoupled look-back: a scan in one pass over the data. Tile i tells the tiles after it the sum of its own rows as soon
// as it knows it (kind 1) and the sum of all rows up to its end as soon as it knows that (kind 2), in two words that each
// carry half of the sum, the kind, and a mark that is or-ed where sums are added. Both words say the same only when both
// are written, so that no fence is needed. The words are zeros before; threadgroups must make progress by themselves,
// and take the numbers of their tiles in the order in which they begin.
static inline void tell(device atomic_ulong* told, ulong tile, ulong sum, bool mark, uint kind) {
    ulong what = (ulong)(kind | (mark ? 4u : 0u)) << 32;
    atomic_store_explicit(told + 2ul * tile, what | (sum & 0xfffffffful), memory_order_relaxed);
    atomic_store_explicit(told + 2ul * tile + 1ul, what | (sum >> 32), memory_order_relaxed);
}

// The sum of all tiles before this one, and their mark, to every lane of the simdgroup that calls it. Tile 0 must tell
// kind 2.
static inline ulong look_back(device atomic_ulong* told, ulong tile, uint lane, thread bool& mark) {
    ulong sum = 0ul;
    mark = false;
    for (ulong end = tile;; end -= 32ul) {
        // One tile a lane, the nearest first.
        ulong low = 2ul << 32;
        ulong high = low;
        bool known = (ulong)lane >= end;
        while (!simd_all(known)) {
            if (!known) {
                ulong at = 2ul * (end - 1ul - (ulong)lane);
                low = atomic_load_explicit(told + at, memory_order_relaxed);
                high = atomic_load_explicit(told + at + 1ul, memory_order_relaxed);
                known = (low >> 32) != 0ul && (low >> 32) == (high >> 32);
            }
        }
        uint all = ballot(((low >> 32) & 2ul) != 0ul);
        bool counts = all == 0u || lane <= (uint)ctz(all);
        ulong v = counts ? (low & 0xfffffffful) | (high << 32) : 0ul;
        for (ushort d = 16; d > 0; d >>= 1) v += shuffle_xor(v, d);
        sum += v;
        mark = mark || ballot(counts && ((low >> 34) & 1ul) != 0ul) != 0u;
        if (all != 0u) return sum;
    }
}
