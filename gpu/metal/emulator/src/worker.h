// A threadgroup while it runs, with a fiber for each of its threads.
#pragma once
#include "happens_before.h"
#include "kernel.h"
#include "shadow.h"
#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace emu {

enum class FiberState : uint8_t {
    New,
    Ready,
    SimdOperation, // waits for the other lanes of its SIMD-group
    SimdBarrier,   // the same, at simdgroup_barrier
    ThreadgroupBarrier,
    Done
};

struct Fiber {
    void* stack_pointer;
    char *stack_begin, *stack_end;
    FiberState state;
    uint8_t operation, type, words; // of the SIMD operation it waits in
    int place;                      // where it waits: see __MTL_PLACE
    uint32_t in[4], out[4], argument;
    uint32_t flags;    // of the barrier it waits at
    uint32_t epoch[2]; // simdgroup_barriers passed, by MemorySpace
    ThreadContext context;
    // Of the wide profile.
    Knowledge known, seen; // acquired, and what a fence would acquire
    bool released;         // by a fence: every atomic write releases
};

constexpr uint32_t kSharedSpace = 2 * kWideThreadgroupMemory; // with red zones between variables

enum MemorySpace { kDevice = 0, kShared = 1 };

// mem_flags of MSL.
enum : uint32_t { kMemDevice = 1, kMemThreadgroup = 2 };

struct SharedVariable {
    uint32_t id, offset, size;
    const char* name;
    bool split; // its history is kept by bytes
};

// The choices of a dispatch whose threads take turns at atomics; the same for the same seed.
struct Schedule {
    uint64_t seed = 0, round = 0;
    uint32_t choose(uint32_t n) { return n < 2 ? 0 : scramble(seed, round++, n); }
};

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

struct Orders {
    Order simdgroups, lanes;
    bool strict; // option simdstrict
};

// A device range that the running kernel may touch.
struct BoundRange {
    uint8_t* begin;
    size_t length;
    int index;
    const char* name;
    bool read_only;
    bool inlined; // setBytes
};

// What the checker knows of one dispatch, whichever of its threadgroups runs.
struct Checks {
    std::vector<BoundRange> ranges;
    Shadow shadow;
    std::unordered_set<std::string> reported; // each finding once
    uint64_t ticks = 0;                       // towards the next look at the clock
    double deadline = 0;
    std::unordered_map<uintptr_t, Knowledge> released; // by location, of the wide profile
    bool acquired = false;                             // something of that
};

// Holds one threadgroup, then the next. A checked dispatch may use several at a time, which
// take turns at atomics.
struct Worker {
    Worker();

    std::vector<Fiber> fibers;
    char* stacks;
    void* scheduler_stack_pointer = nullptr;
    Fiber* current = nullptr;

    Launch* launch = nullptr;
    bool checked = false;
    uint32_t threads = 0, simdgroups = 0;
    Size3 group{};
    uint32_t group_index = 0;
    uint32_t epoch[2] = {1, 1}; // threadgroup_barriers passed, by MemorySpace

    uint8_t* shared;
    uint32_t shared_used = 0; // counts against kThreadgroupMemory
    uint32_t shared_end = 0;  // the same with red zones
    std::vector<SharedVariable> variables;
    std::vector<Cell> shared_words, shared_bytes;
    void* buffer_pointers[kMaxBindings];
    void* shared_pointers[kMaxBindings];

    Checks own_checks;
    Checks* checks = &own_checks; // those of the dispatch: of its first worker
    Schedule* schedule = nullptr; // not null: threads take turns at atomics
    bool parked[kMaxSimdgroups];  // those that wait for a barrier of the threadgroup, or are done
    Knowledge known;              // acquired by all threads of the threadgroup
    bool active = false;          // holds a threadgroup that is not done

    bool failed = false;
    std::string error;

    uint32_t global_thread(const Fiber* f) const {
        return group_index * threads + f->context.index_in_threadgroup + 1;
    }
};

// The worker of this OS thread while it runs a grid.
extern thread_local Worker* this_worker;

// An access of a kernel.
struct Access {
    Worker* w;
    Fiber* f;
    uint8_t* address;
    uint32_t size;
    bool write, atomic;
    void* pc;
    const BoundRange* range = nullptr; // what it touches: one of these
    SharedVariable* variable = nullptr;

    AccessKind kind() const {
        return atomic ? write ? kAtomicWrite : kAtomicRead : write ? kPlainWrite : kPlainRead;
    }
    std::string name() const;
    void report(const char* kind, const std::string& what, const std::string& tail = "") const;
    [[noreturn]] void stop(const char* kind, const std::string& what) const;
};

// fiber.cpp
void resume(Worker* w, Fiber* f);
void yield_fiber(Worker* w, Fiber* f);
[[noreturn]] void park(Worker* w); // ends the current fiber: it must not go on

// The source line of a place.
inline int line_of(int place) {
    return place & 0xfffff;
}

// simd.cpp
const char* simd_name(int operation);
void complete_simd(Fiber** lanes, int count, const Fiber* base, int width);

// schedule.cpp
void begin_threadgroup(Worker* w, uint32_t index);
// Runs a SIMD-group until it waits, others are to run, or it has failed.
void step_threadgroup(Worker* w, const Orders& orders);
void switch_point(); // others may run before the atomic that follows
bool fails_spuriously();

// happens_before.cpp
void order_atomic(const volatile void* location, int order, bool reads, bool writes);
void order_fence(int order);
bool knows(const Access& a, const LastAccess& l, MemorySpace space);   // that it has happened before
void share_knowledge(Worker* w, Fiber* const* fibers, uint32_t count); // at a barrier

// race.cpp
bool visit_cell(const Access& a, Cell& c, MemorySpace space); // false after a finding

// check.cpp
void bind_ranges(Worker* w);
void* shared_memory(Worker* w, uint32_t id, uint64_t size, uint64_t align, const char* name);
void check_time();
void fail(Worker* w, const char* kind, const std::string& message);
std::string describe(const Fiber* f);
void check_alignment(void* address, uint64_t alignment, const char* what, void* pc);
void check_access(void* address, uint32_t size, bool write, bool atomic, void* pc);

// trace.cpp: the MSL line of a code address.
std::string source_line(const Module* m, void* pc);

} // namespace emu
