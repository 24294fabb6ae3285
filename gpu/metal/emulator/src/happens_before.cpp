// Release and acquire between threads of one dispatch, which only the wide profile has.
//
// A release leaves at its location what its thread knows: its own accesses, those that
// barriers of its threadgroup have ordered before it, and what it has acquired. An acquire
// of the location takes that over; a barrier hands it on to the threadgroup. Races can be
// missed here (a location keeps what was released there for good), not invented.
#include "worker.h"
#include <algorithm>

namespace emu {

void Knowledge::join(const Knowledge& other) {
    for (auto& g : other.threadgroups) {
        uint16_t& known = threadgroups[g.first];
        known = std::max(known, g.second);
    }
    for (auto& t : other.threads) {
        uint32_t& known = threads[t.first];
        known = std::max(known, t.second);
    }
}

static Worker* wide_worker() {
    Worker* w = this_worker;
    return w && w->current && w->checked && !w->failed && w->launch->kernel->module->wide ? w : nullptr;
}

static void acquire(Worker* w, const Knowledge& k) {
    if (k.empty())
        return;
    w->current->known.join(k);
    w->checks->acquired = true;
}

static void release(Worker* w, Knowledge* at) {
    Fiber* f = w->current;
    uint16_t epoch = clip(w->epoch[kDevice]);
    at->join(w->known);
    at->join(f->known);
    Knowledge mine;
    mine.threadgroups[w->group_index] = epoch;
    mine.threads[w->global_thread(f)] = pack(epoch, clip(f->epoch[kDevice]));
    at->join(mine);
    f->epoch[kDevice]++; // what the thread does from now on is not released
}

static bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order >= __ATOMIC_ACQ_REL;
}

static bool releases(int order) {
    return order >= __ATOMIC_RELEASE;
}

void order_atomic(const volatile void* location, int order, bool reads, bool writes) {
    Worker* w = wide_worker();
    if (!w)
        return;
    Fiber* f = w->current;
    Knowledge& at = w->checks->released[(uintptr_t)location];
    if (reads && acquires(order))
        acquire(w, at);
    else if (reads)
        f->seen.join(at);
    if (writes && (releases(order) || f->released))
        release(w, &at);
}

void order_fence(int order) {
    Worker* w = wide_worker();
    if (!w)
        return;
    if (acquires(order))
        acquire(w, w->current->seen);
    if (releases(order))
        w->current->released = true;
}

bool knows(const Access& a, const LastAccess& l, MemorySpace space) {
    uint32_t threadgroup = (l.thread - 1) / a.w->threads;
    for (const Knowledge* k : {&a.f->known, &a.w->known}) {
        auto thread = k->threads.find(l.thread);
        // Steps are those of device memory; of threadgroup memory all is taken as known.
        if (thread != k->threads.end() && (space == kShared || thread->second >= pack(l.epoch, l.step)))
            return true;
        auto group = k->threadgroups.find(threadgroup);
        if (group != k->threadgroups.end() && group->second > l.epoch)
            return true;
    }
    return false;
}

void share_knowledge(Worker* w, Fiber* const* fibers, uint32_t count) {
    if (!w->checks->acquired)
        return;
    for (uint32_t i = 0; i < count; i++) {
        w->known.join(fibers[i]->known);
        fibers[i]->known = {};
    }
}

} // namespace emu
