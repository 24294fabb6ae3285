// Runs a grid: threadgroup by threadgroup, SIMD-group by SIMD-group, in an order that
// the option `order` chooses.
#include "worker.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <signal.h>
#include <thread>

namespace emu {

namespace {

// Kernels see float32 subnormals as zero, in operands and results, as on the GPU.
class FlushSubnormals {
  public:
#if defined(__x86_64__)
    FlushSubnormals() : saved_(__builtin_ia32_stmxcsr()) {
        constexpr unsigned kFlushToZero = 1u << 15, kDenormalsAreZero = 1u << 6;
        __builtin_ia32_ldmxcsr(saved_ | kFlushToZero | kDenormalsAreZero);
    }
    ~FlushSubnormals() {
        __builtin_ia32_ldmxcsr(saved_);
    }

  private:
    unsigned saved_;
#elif defined(__aarch64__)
    FlushSubnormals() {
        constexpr uint64_t kFlushToZero = 1u << 24;
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(saved_ | kFlushToZero));
    }
    ~FlushSubnormals() {
        __asm__ volatile("msr fpcr, %0" : : "r"(saved_));
    }

  private:
    uint64_t saved_;
#endif
};

// Workers are expensive (1024 stacks) and few are needed at a time.
class WorkerPool {
  public:
    Worker* take() {
        std::unique_lock<std::mutex> lock(mutex_);
        released_.wait(lock, [&] { return !idle_.empty() || made_ < kMost; });
        if (idle_.empty()) {
            made_++;
            lock.unlock();
            return new Worker;
        }
        Worker* w = idle_.back();
        idle_.pop_back();
        return w;
    }
    void give(Worker* w) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            idle_.push_back(w);
        }
        released_.notify_one();
    }

  private:
    static constexpr int kMost = 8;
    std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Worker*> idle_;
    int made_ = 0;
};

WorkerPool& worker_pool() {
    static auto& p = *new WorkerPool;
    return p;
}

// The i-th of n things, for the option `order`: 0 forward, 1 backward, else permuted.
struct Order {
    Order(int64_t seed, uint32_t n) : seed(seed), n(n), step(1) {
        if (seed < 2 || n < 2)
            return;
        step = (uint32_t)(seed % n) | 1;
        while (std::gcd(step, n) != 1)
            step += 2;
    }
    uint32_t at(uint32_t i) const {
        if (seed == 1)
            return n - 1 - i;
        if (seed < 2 || n < 2)
            return i;
        return (uint32_t)(((uint64_t)i * step + (uint64_t)seed) % n);
    }
    int64_t seed;
    uint32_t n, step;
};

// Runs the threads of a SIMD-group until each is at a threadgroup barrier or done.
class SimdgroupRun {
  public:
    SimdgroupRun(Worker* w, uint32_t index, const Order& lanes, bool strict)
        : w_(w), index_(index), lane_order_(lanes), first_(&w->fibers[index * kSimdWidth]),
          width_((int)std::min(kSimdWidth, w->threads - index * kSimdWidth)), strict_(strict) {}

    void run() {
        while (!w_->failed) {
            run_ready();
            if (w_->failed)
                return;
            gather();
            if (waiting_ == 0)
                return;
            if (strict_ && (mixed_ || at_barrier_ || waiting_ < width_)) {
                report_divergence();
                return;
            }
            complete();
        }
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

    void run_ready() {
        for (uint32_t k = 0; k < kSimdWidth && !w_->failed; k++) {
            auto i = (int)lane_order_.at(k);
            if (i < width_ && first_[i].state <= FiberState::Ready)
                resume(w_, &first_[i]);
        }
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
            // The source line tells operations apart: return addresses would not, because
            // the compiler duplicates code.
            const Fiber* l = lanes_[0];
            if (waiting_ && (f->line != l->line || f->state != l->state || f->operation != l->operation))
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
                 barrier ? "simdgroup_barrier" : simd_name(lanes_[0]->operation), lanes_[0]->line, waiting_,
                 width_, index_, others, describe(lanes_[0]).c_str()));
    }

    void complete() {
        if (lanes_[0]->state == FiberState::SimdOperation) {
            complete_simd(lanes_, waiting_, first_, width_);
            return;
        }
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
    w->shared_used = w->shared_end = 0;
    w->variables.clear();
    for (int i = 0; i < kMaxBindings; i++)
        w->buffer_pointers[i] = l.bindings[i].bound() ? l.bindings[i].data() : nullptr;
    for (auto& p : l.kernel->parameters) {
        if (p.kind == Parameter::kThreadgroup)
            w->shared_pointers[p.index] = shared_memory(w, kParameterIds + (uint32_t)p.index,
                                                        l.threadgroup_lengths[p.index], 16, p.name);
    }
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
        if (f->line != first->line)
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
                 first->line, waiting, w->threads, elsewhere ? "at another barrier" : "have returned",
                 describe(elsewhere ? elsewhere : first).c_str()));
        return false;
    }
    w->epoch[kDevice] += (flags & kMemDevice) != 0;
    w->epoch[kShared] += (flags & kMemThreadgroup) != 0;
    for (uint32_t i = 0; i < w->threads; i++)
        w->fibers[i].state = FiberState::Ready;
    return true;
}

void run_threadgroup(Worker* w, const Order& simdgroups, const Order& lanes, bool strict) {
    prepare_threadgroup(w);
    do {
        for (uint32_t i = 0; i < w->simdgroups && !w->failed; i++)
            SimdgroupRun(w, simdgroups.at(i), lanes, strict).run();
    } while (!w->failed && pass_barrier(w));
}

// What the OS threads of one dispatch share.
struct GridRun {
    Launch& launch;
    Footprint* footprint;
    std::atomic<uint32_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::string error;

    void work() {
        Worker* w = worker_pool().take();
        start(w);
        {
            FlushSubnormals mode;
            auto groups = (uint32_t)launch.groups.count();
            Order group_order(option(Option::Order), groups);
            Order simdgroup_order(option(Option::Order), w->simdgroups);
            Order lane_order(option(Option::Order), kSimdWidth);
            bool strict = option(Option::SimdStrict) != 0;
            for (uint32_t i = next++; i < groups && !failed; i = next++) {
                uint32_t g = w->group_index = group_order.at(i);
                w->group = {g % launch.groups.x, g / launch.groups.x % launch.groups.y,
                            g / (launch.groups.x * launch.groups.y)};
                run_threadgroup(w, simdgroup_order, lane_order, strict);
                if (w->failed)
                    failed = true;
            }
        }
        finish(w);
    }

    void start(Worker* w) {
        this_worker = w;
        w->launch = &launch;
        w->checked = launch.kernel->module->checked;
        w->deadline = seconds_now() + (double)option(Option::KernelTimeoutMs) * 1e-3;
        w->failed = false;
        w->error.clear();
        w->reported.clear();
        w->threads = (uint32_t)launch.threads.count();
        w->simdgroups = (w->threads + kSimdWidth - 1) / kSimdWidth;
        if (w->checked)
            bind_ranges(w);
    }

    void finish(Worker* w) {
        if (w->failed) {
            std::lock_guard<std::mutex> lock(mutex);
            error = w->error;
        } else if (w->checked && footprint) {
            w->shadow.collect(footprint);
        }
        w->shadow.clear();
        w->launch = nullptr;
        this_worker = nullptr;
        worker_pool().give(w);
    }
};

} // namespace

bool run_grid(Launch& launch, Footprint* footprint, std::string* error) {
    GridRun grid{launch, footprint};
    // The checker's shadow memory belongs to one worker.
    bool alone = launch.kernel->module->checked;
    auto threads = (uint64_t)(alone ? 1 : option(Option::Threads));
    if (threads > launch.groups.count())
        threads = launch.groups.count();
    std::vector<std::thread> helpers;
    for (uint64_t i = 1; i < threads; i++)
        helpers.emplace_back([&] { grid.work(); });
    grid.work();
    for (auto& t : helpers)
        t.join();
    *error = grid.error;
    return !grid.failed;
}

} // namespace emu
