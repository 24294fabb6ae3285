// Runs the threads of a threadgroup: SIMD-group by SIMD-group, in an order that the option
// `order` chooses, or with turns that change at atomics.
#include "worker.h"
#include <numeric>

namespace emu {

namespace {

// Runs the threads of a SIMD-group.
class SimdgroupRun {
  public:
    SimdgroupRun(Worker* w, uint32_t index, const Order& lanes, bool strict)
        : w_(w), index_(index), lane_order_(lanes), first_(&w->fibers[index * kSimdWidth]),
          width_((int)std::min(kSimdWidth, w->threads - index * kSimdWidth)), strict_(strict) {}

    // True when each of its threads is at a threadgroup barrier or done, false when it was
    // interrupted (or has failed).
    bool run() {
        while (!w_->failed) {
            if (!run_ready())
                return false;
            gather();
            if (waiting_ == 0)
                return true;
            if (strict_ && (mixed_ || at_barrier_ || waiting_ < width_)) {
                report_divergence();
                return false;
            }
            complete();
        }
        return false;
    }

  private:
    Worker* w_;
    uint32_t index_;
    const Order& lane_order_;
    Fiber* first_;
    int width_;
    bool strict_;
    Fiber* lanes_[kSimdWidth]; // that wait in the same SIMD-group operation
    int waiting_ = 0, at_barrier_ = 0;
    bool mixed_ = false;

    // Runs all lanes until none is ready; false if others are to run first.
    bool run_ready() {
        for (bool again = true; again;) {
            again = false;
            uint32_t first = w_->schedule ? w_->schedule->choose(kSimdWidth) : 0;
            for (uint32_t k = 0; k < kSimdWidth; k++) {
                auto i = (int)((lane_order_.at(k) + first) % kSimdWidth);
                if (i >= width_ || first_[i].state > FiberState::Ready)
                    continue;
                resume(w_, &first_[i]);
                if (w_->failed)
                    return false;
                if (first_[i].state != FiberState::Ready)
                    continue;
                again = true; // it stands before an atomic
                if (w_->schedule->choose(2))
                    return false;
            }
        }
        return true;
    }

    void gather() {
        waiting_ = at_barrier_ = 0;
        mixed_ = false;
        for (int i = 0; i < width_; i++) {
            Fiber* f = &first_[i];
            if (f->state == FiberState::ThreadgroupBarrier)
                at_barrier_++;
            if (f->state != FiberState::SimdOperation && f->state != FiberState::SimdBarrier)
                continue;
            // The place in the text tells operations apart: return addresses would not,
            // because the compiler duplicates code.
            const Fiber* l = lanes_[0];
            if (waiting_ && (f->place != l->place || f->state != l->state || f->operation != l->operation))
                mixed_ = true;
            else
                lanes_[waiting_++] = f;
        }
    }

    void report_divergence() {
        bool barrier = lanes_[0]->state == FiberState::SimdBarrier;
        const char* others = at_barrier_ ? "at a threadgroup_barrier"
                             : mixed_    ? "at another SIMD-group operation"
                                         : "finished";
        fail(w_, "divergent-simd",
             format(
                 "%s at program_source:%d reached by %d of %d threads of SIMD-group %u (others: %s), e.g. %s",
                 barrier ? "simdgroup_barrier" : simd_name(lanes_[0]->operation), line_of(lanes_[0]->place),
                 waiting_, width_, index_, others, describe(lanes_[0]).c_str()));
    }

    void complete() {
        if (lanes_[0]->state == FiberState::SimdOperation) {
            complete_simd(lanes_, waiting_, first_, width_);
            return;
        }
        share_knowledge(w_, lanes_, (uint32_t)waiting_);
        for (int i = 0; i < waiting_; i++) {
            lanes_[i]->state = FiberState::Ready;
            lanes_[i]->epoch[kDevice] += (lanes_[i]->flags & kMemDevice) != 0;
            lanes_[i]->epoch[kShared] += (lanes_[i]->flags & kMemThreadgroup) != 0;
        }
    }
};

void prepare_threads(Worker* w) {
    const Launch& l = *w->launch;
    Size3 t = l.threads, g = w->group;
    for (uint32_t i = 0; i < w->threads; i++) {
        Fiber& f = w->fibers[i];
        f.state = FiberState::New;
        f.epoch[kDevice] = f.epoch[kShared] = 0;
        if (l.kernel->module->wide) {
            f.known = f.seen = {};
            f.released = false;
        }
        ThreadContext& c = f.context;
        c.position_in_threadgroup = {i % t.x, i / t.x % t.y, i / (t.x * t.y)};
        c.threadgroup_position = g;
        c.threads_per_threadgroup = t;
        c.threadgroups_per_grid = l.groups;
        // Positions wrap at 2^32, as on the GPU.
        c.threads_per_grid = {l.groups.x * t.x, l.groups.y * t.y, l.groups.z * t.z};
        c.position_in_grid = {g.x * t.x + c.position_in_threadgroup.x,
                              g.y * t.y + c.position_in_threadgroup.y,
                              g.z * t.z + c.position_in_threadgroup.z};
        c.index_in_threadgroup = i;
        c.lane = i % kSimdWidth;
        c.simdgroup = i / kSimdWidth;
        c.simdgroups = w->simdgroups;
        c.simd_width = kSimdWidth;
        c.buffers = w->buffer_pointers;
        c.threadgroup_memory = w->shared_pointers;
    }
}

void prepare_threadgroup(Worker* w) {
    constexpr uint32_t kParameterIds = 1000000; // apart from the ids of declared variables
    Launch& l = *w->launch;
    w->epoch[kDevice] = w->epoch[kShared] = 1;
    w->known = {};
    w->shared_used = w->shared_end = 0;
    w->variables.clear();
    for (int i = 0; i < kMaxBindings; i++)
        w->buffer_pointers[i] = l.bindings[i].bound() ? l.bindings[i].data() : nullptr;
    for (auto& p : l.kernel->parameters) {
        if (p.kind == Parameter::kThreadgroup)
            w->shared_pointers[p.index] = shared_memory(w, kParameterIds + (uint32_t)p.index,
                                                        l.threadgroup_lengths[p.index], 16, p.name);
    }
    std::fill(w->parked, w->parked + w->simdgroups, false);
    prepare_threads(w);
}

// Passes the barrier that all threads have reached; false when all are done (or failed).
bool pass_barrier(Worker* w) {
    uint32_t waiting = 0, done = 0, flags = kMemDevice | kMemThreadgroup;
    const Fiber *first = nullptr, *elsewhere = nullptr;
    for (uint32_t i = 0; i < w->threads; i++) {
        const Fiber* f = &w->fibers[i];
        if (f->state == FiberState::Done)
            done++;
        if (f->state != FiberState::ThreadgroupBarrier)
            continue;
        if (!first)
            first = f;
        if (f->place != first->place)
            elsewhere = f;
        flags &= f->flags;
        waiting++;
    }
    if (!waiting)
        return false;
    if (done || elsewhere) {
        fail(w, "divergent-barrier",
             format(
                 "threadgroup_barrier at program_source:%d reached by %u of %u threads (others %s), e.g. %s",
                 line_of(first->place), waiting, w->threads,
                 elsewhere ? "at another barrier" : "have returned",
                 describe(elsewhere ? elsewhere : first).c_str()));
        return false;
    }
    w->epoch[kDevice] += (flags & kMemDevice) != 0;
    w->epoch[kShared] += (flags & kMemThreadgroup) != 0;
    for (uint32_t i = 0; i < w->threads; i++) {
        Fiber* f = &w->fibers[i];
        f->state = FiberState::Ready;
        share_knowledge(w, &f, 1);
    }
    std::fill(w->parked, w->parked + w->simdgroups, false);
    return true;
}

// A SIMD-group that can run, or -1.
int next_simdgroup(Worker* w, const Order& order) {
    int ready[kMaxSimdgroups];
    uint32_t count = 0;
    for (uint32_t i = 0; i < w->simdgroups; i++) {
        auto s = (int)order.at(i);
        if (!w->parked[s])
            ready[count++] = s;
        if (count && !w->schedule)
            break;
    }
    return count == 0 ? -1 : ready[w->schedule ? w->schedule->choose(count) : 0];
}

} // namespace

void begin_threadgroup(Worker* w, uint32_t index) {
    const Size3 groups = w->launch->groups;
    w->group_index = index;
    w->group = {index % groups.x, index / groups.x % groups.y, index / (groups.x * groups.y)};
    w->active = true;
    prepare_threadgroup(w);
}

void step_threadgroup(Worker* w, const Orders& orders) {
    int s = next_simdgroup(w, orders.simdgroups);
    if (s < 0)
        w->active = pass_barrier(w);
    else if (SimdgroupRun(w, (uint32_t)s, orders.lanes, orders.strict).run())
        w->parked[s] = true;
}

void switch_point() {
    Worker* w = this_worker;
    if (w && w->schedule && w->current && !w->failed && w->schedule->choose(4))
        yield_fiber(w, w->current); // its state stays Ready
}

// A weak compare-and-exchange may fail for no reason.
bool fails_spuriously() {
    constexpr uint32_t kOneIn = 8;
    Worker* w = this_worker;
    return w && w->schedule && w->schedule->choose(kOneIn) == 0;
}

} // namespace emu
