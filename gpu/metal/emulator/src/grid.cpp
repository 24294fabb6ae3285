// Runs a grid: its threadgroups one after the other, or several at a time that take turns.
#include "worker.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <signal.h>
#include <thread>

namespace emu {

namespace {

// Kernels see float32 subnormals as zero, in operands and results, as on the GPU; those of
// the wide profile keep them.
class FlushSubnormals {
  public:
#if defined(__x86_64__)
    explicit FlushSubnormals(bool on) : saved_(__builtin_ia32_stmxcsr()) {
        constexpr unsigned kFlushToZero = 1u << 15, kDenormalsAreZero = 1u << 6;
        __builtin_ia32_ldmxcsr(on ? saved_ | kFlushToZero | kDenormalsAreZero : saved_);
    }
    ~FlushSubnormals() {
        __builtin_ia32_ldmxcsr(saved_);
    }

  private:
    unsigned saved_;
#elif defined(__aarch64__)
    explicit FlushSubnormals(bool on) {
        constexpr uint64_t kFlushToZero = 1u << 24;
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(on ? saved_ | kFlushToZero : saved_));
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
        return take_locked(lock);
    }
    Worker* take_locked(std::unique_lock<std::mutex>& lock) {
        if (idle_.empty()) {
            made_++;
            lock.unlock();
            return new Worker;
        }
        Worker* w = idle_.back();
        idle_.pop_back();
        return w;
    }
    // nullptr if that would have to wait.
    Worker* try_take() {
        std::unique_lock<std::mutex> lock(mutex_);
        return idle_.empty() && made_ == kMost ? nullptr : take_locked(lock);
    }
    void give(Worker* w) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            idle_.push_back(w);
        }
        released_.notify_one();
    }

  private:
    static constexpr int kMost = 16;
    std::mutex mutex_;
    std::condition_variable released_;
    std::vector<Worker*> idle_;
    int made_ = 0;
};

WorkerPool& worker_pool() {
    static auto& p = *new WorkerPool;
    return p;
}

constexpr int64_t kResident = 4; // threadgroups at a time, by default

// What the OS threads of one dispatch share.
struct GridRun {
    Launch& launch;
    Footprint* footprint;
    std::atomic<uint32_t> next{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::string error;

    // One OS thread's share.
    void work() {
        Worker* lead = worker_pool().take();
        std::vector<Worker*> team{lead};
        Schedule schedule{(uint64_t)option(Option::Order)};
        if (launch.kernel->module->checked)
            add_residents(&team);
        for (Worker* w : team)
            start(w, lead, team.size() > 1 ? &schedule : nullptr);
        if (lead->checked)
            bind_ranges(lead);
        {
            FlushSubnormals mode(!launch.kernel->module->wide);
            run_team(team, &schedule);
        }
        if (!failed && lead->checked && footprint)
            lead->checks->shadow.collect(footprint);
        for (Worker* w : team)
            finish(w);
    }

    // Workers beyond the first, as far as the option `resident` asks for them and there are any.
    void add_residents(std::vector<Worker*>* team) {
        int64_t wanted = option(Option::Resident);
        if (!wanted)
            wanted = option(Option::Order) > 1 || launch.kernel->module->wide ? kResident : 1;
        if (wanted < 2)
            return;
        wanted = std::min(wanted, (int64_t)launch.groups.count());
        while ((int64_t)team->size() < wanted) {
            Worker* w = worker_pool().try_take();
            if (!w)
                return;
            team->push_back(w);
        }
    }

    void run_team(std::vector<Worker*> team, Schedule* schedule) {
        auto groups = (uint32_t)launch.groups.count();
        int64_t seed = option(Option::Order);
        Order group_order(seed, groups);
        Orders orders{Order(seed, team[0]->simdgroups), Order(seed, kSimdWidth),
                      option(Option::SimdStrict) != 0};
        while (!team.empty() && !failed) {
            uint32_t turn = schedule->choose((uint32_t)team.size());
            Worker* w = this_worker = team[turn];
            if (!w->active) {
                uint32_t i = next++;
                if (i >= groups) {
                    team.erase(team.begin() + turn);
                    continue;
                }
                begin_threadgroup(w, group_order.at(i));
            }
            step_threadgroup(w, orders);
            if (w->failed)
                fail_grid(w);
        }
        this_worker = nullptr;
    }

    void fail_grid(Worker* w) {
        failed = true;
        std::lock_guard<std::mutex> lock(mutex);
        error = w->error;
    }

    void start(Worker* w, Worker* lead, Schedule* schedule) {
        w->checks = &lead->own_checks;
        w->schedule = schedule;
        w->active = false;
        w->launch = &launch;
        w->checked = launch.kernel->module->checked;
        w->own_checks.deadline = seconds_now() + (double)option(Option::KernelTimeoutMs) * 1e-3;
        w->failed = false;
        w->error.clear();
        w->own_checks.reported.clear();
        w->own_checks.released.clear();
        w->own_checks.acquired = false;
        w->threads = (uint32_t)launch.threads.count();
        w->simdgroups = (w->threads + kSimdWidth - 1) / kSimdWidth;
    }

    void finish(Worker* w) {
        w->own_checks.shadow.clear();
        w->launch = nullptr;
        w->schedule = nullptr;
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
