// Data races: two accesses to a byte, one of them a write and not both atomic, that nothing
// orders. Accesses are ordered if they are of one thread, or of one threadgroup with a
// threadgroup_barrier of fitting mem_flags between, or of one SIMD-group with such a
// simdgroup_barrier between.
//
// Of each kind of access the last is remembered, with marks that say whether there were
// others that it is not ordered after. Those marks stand for all that went before, so no
// pair of accesses is missed (beyond 65,535 barriers one can be), and none invented.
#include "worker.h"

namespace emu {

namespace {

// Where a thread stands.
struct Place {
    uint32_t thread, threadgroup, simdgroup;
    uint16_t epoch, step;
    MemorySpace space;
};

Place place_of(const Access& a, MemorySpace space) {
    const Worker* w = a.w;
    return {w->global_thread(a.f), w->group_index,          a.f->context.simdgroup,
            clip(w->epoch[space]), clip(a.f->epoch[space]), space};
}

bool same_epoch(const Worker* w, const LastAccess& l, const Place& me) {
    return (l.thread - 1) / w->threads == me.threadgroup && l.epoch == me.epoch && l.epoch != kManyBarriers;
}

bool same_step(const Worker* w, const LastAccess& l, const Place& me) {
    return same_epoch(w, l, me) && (l.thread - 1) % w->threads / kSimdWidth == me.simdgroup &&
           l.step == me.step && l.step != kManyBarriers;
}

// Is the last access itself, by a thread that is not me, ordered before me?
bool is_ordered(const Access& a, const LastAccess& l, const Place& me) {
    const Worker* w = a.w;
    if (w->checks->acquired && knows(a, l, me.space))
        return true;
    if ((l.thread - 1) / w->threads != me.threadgroup)
        return false;
    if (!same_epoch(w, l, me))
        return true;
    bool same_simdgroup = (l.thread - 1) % w->threads / kSimdWidth == me.simdgroup;
    return same_simdgroup && !same_step(w, l, me);
}

// Is there an access of this kind that is not ordered before me?
bool is_unordered(const Access& a, const LastAccess& l, uint8_t many, const Place& me) {
    const Worker* w = a.w;
    if (!l.thread)
        return false;
    if (w->checks->acquired)
        many = 0; // the others may be ordered by what was acquired
    if (many & kManyThreadgroups)
        return true;
    if ((many & kManySimdgroups) && same_epoch(w, l, me))
        return true;
    if ((many & kManyLanes) && same_step(w, l, me))
        return true;
    return l.thread != me.thread && !is_ordered(a, l, me);
}

void remember(const Access& a, LastAccess& l, Cell& c, AccessKind kind, const Place& me) {
    const Worker* w = a.w;
    uint8_t many = c.many_of(kind);
    if (!l.thread) {
        many = 0;
    } else {
        if (l.thread != me.thread && !is_ordered(a, l, me)) {
            if ((l.thread - 1) / w->threads != me.threadgroup)
                many |= kManyThreadgroups;
            else if (same_step(w, l, me))
                many |= kManyLanes;
            else
                many |= kManySimdgroups;
        }
        if (!same_epoch(w, l, me))
            many &= kManyThreadgroups;
        else if (!same_step(w, l, me))
            many &= (uint8_t)~kManyLanes;
    }
    c.set_many(kind, many);
    l = {me.thread, me.epoch, me.step};
}

// The kinds of earlier accesses that a kind conflicts with.
constexpr uint8_t kConflicts[kAccessKinds] = {
    1 << kPlainWrite | 1 << kPlainRead | 1 << kAtomicWrite | 1 << kAtomicRead,
    1 << kPlainWrite | 1 << kAtomicWrite,
    1 << kPlainWrite | 1 << kPlainRead,
    1 << kPlainWrite,
};

constexpr const char* kDid[kAccessKinds] = {"written", "read", "atomically written", "atomically read"};

std::string race_tail(const Worker* w, AccessKind kind, const LastAccess& l) {
    return format("; %s by thread %u of threadgroup #%u with no barrier between", kDid[kind],
                  (l.thread - 1) % w->threads, (l.thread - 1) / w->threads);
}

} // namespace

bool visit_cell(const Access& a, Cell& c, MemorySpace space) {
    const AccessKind kind = a.kind();
    const Place me = place_of(a, space);
    LastAccess& mine = c.last[kind];
    for (int k = 0; k < kAccessKinds; k++) {
        auto other = (AccessKind)k;
        if (!(kConflicts[kind] & c.touched & 1 << k))
            continue;
        if (is_unordered(a, c.last[k], c.many_of(other), me)) {
            a.report("data-race", "of " + a.name(), race_tail(a.w, other, c.last[k]));
            return false;
        }
    }
    if (mine.thread != me.thread || mine.epoch != me.epoch || mine.step != me.step)
        remember(a, mine, c, kind, me);
    c.touched |= (uint8_t)(1 << kind);
    return true;
}

} // namespace emu
