// One OS thread's share of the emulated GPU: it runs threadgroups, one at a time, with a
// fiber for each of their threads.
#pragma once
#include "kernel.h"
#include "shadow.h"
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
    int line;                       // where it waits
    uint32_t in[4], out[4], argument;
    uint32_t flags;    // of the barrier it waits at
    uint32_t epoch[2]; // simdgroup_barriers passed, by MemorySpace
    ThreadContext context;
};

constexpr uint32_t kSharedSpace = 2 * kThreadgroupMemory; // with red zones between variables

enum MemorySpace { kDevice = 0, kShared = 1 };

// mem_flags of MSL.
enum : uint32_t { kMemDevice = 1, kMemThreadgroup = 2 };

struct SharedVariable {
    uint32_t id, offset, size;
    const char* name;
    bool split; // its history is kept by bytes
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

    std::vector<BoundRange> ranges;
    Shadow shadow;

    uint64_t accesses = 0;
    double deadline = 0; // of the dispatch

    bool failed = false;
    std::string error;
    std::unordered_set<std::string> reported; // each finding once a dispatch

    uint32_t global_thread(const Fiber* f) const {
        return group_index * threads + f->context.index_in_threadgroup + 1;
    }
};

// The worker of this OS thread while it runs a grid.
extern thread_local Worker* this_worker;

// fiber.cpp
void resume(Worker* w, Fiber* f);
void yield_fiber(Worker* w, Fiber* f);
[[noreturn]] void park(Worker* w); // ends the current fiber: it must not go on

// simd.cpp
const char* simd_name(int operation);
void complete_simd(Fiber** lanes, int count, const Fiber* base, int width);

// check.cpp
void bind_ranges(Worker* w);
void* shared_memory(Worker* w, uint32_t id, uint64_t size, uint64_t align, const char* name);
void fail(Worker* w, const char* kind, const std::string& message);
std::string describe(const Fiber* f);
void check_alignment(void* address, uint32_t alignment, uint32_t size, bool write, void* pc);
void check_access(void* address, uint32_t size, bool write, bool atomic, void* pc);

// trace.cpp: the MSL line of a code address.
std::string source_line(const Module* m, void* pc);

} // namespace emu
