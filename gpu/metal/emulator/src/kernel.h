// Compiled kernels and what a dispatch of one needs.
#pragma once
#include "objc.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace emu {

constexpr uint32_t kMaxThreads = 1024; // of a threadgroup
constexpr uint32_t kSimdWidth = 32;
constexpr uint32_t kMaxSimdgroups = kMaxThreads / kSimdWidth;
constexpr uint32_t kThreadgroupMemory = 32768;
constexpr uint32_t kWideThreadgroupMemory = 49152; // of the wide profile: what a CUDA kernel may declare
constexpr int kMaxBindings = 31;

struct Size3 {
    uint32_t x, y, z;
    uint64_t count() const { return (uint64_t)x * y * z; }
};

// What a kernel sees of its thread. The layout is shared with include/metal_types.
struct ThreadContext {
    Size3 position_in_grid, position_in_threadgroup, threadgroup_position;
    Size3 threads_per_threadgroup, threadgroups_per_grid, threads_per_grid;
    uint32_t index_in_threadgroup, lane, simdgroup, simdgroups, simd_width;
    void* const* buffers;
    void* const* threadgroup_memory;
};

// A row of the table that msl_rewrite.cpp appends for each kernel.
struct Parameter {
    enum Kind : int { kPointer = 0, kReference = 1, kThreadgroup = 2, kEnd = -1 };
    int kind;
    int index;
    uint32_t element_size;
    uint32_t read_only;
    const char* name;
};

struct Module;

struct Kernel {
    std::string name;
    void (*run)(const ThreadContext*);
    std::vector<Parameter> parameters;
    Module* module;
};

// One compiled library. It stays loaded for the life of the process.
struct Module {
    std::string path;
    bool checked;
    bool wide; // for the wide profile
    std::map<std::string, Kernel> kernels;
    std::vector<std::string> lines;                         // of the source text, for messages
    std::vector<std::pair<uintptr_t, uintptr_t>> constants; // mapped memory of the library itself
};

// Compiles MSL text; nullptr and the compiler's messages in *log if that fails.
Module* compile_msl(const std::string& source, bool fast_math, bool wide, std::string* log);

// MSL text to C++ text; *log is not empty if the text breaks a rule that g++ does not know.
std::string rewrite_msl(const std::string& source, bool wide, std::string* log);

struct Binding {
    uint8_t* bytes = nullptr;
    size_t length = 0;
    Object* buffer = nullptr;  // nullptr for setBytes
    std::vector<uint8_t> copy; // of setBytes
    bool bound() const { return length != 0; }
    uint8_t* data() { return buffer ? bytes : copy.data(); }
};

struct Launch {
    Object* pipeline;
    Kernel* kernel;
    Binding bindings[kMaxBindings];
    uint32_t threadgroup_lengths[kMaxBindings];
    Size3 groups, threads;
};

// Bytes [begin, end) of memory.
struct Span {
    uintptr_t begin, end;
};

// What a command touched, as sorted disjoint spans.
struct Footprint {
    std::vector<Span> reads, writes, atomics;
};

// Runs a dispatch. false: a rule was broken (already reported) and *error says which.
// The footprint is filled for checked kernels only.
bool run_grid(Launch& launch, Footprint* footprint, std::string* error);

double seconds_now();

// True if any byte of the range was poisoned by metalemu_poison.
bool is_poisoned(uintptr_t begin, uintptr_t end);
// Marks a copy of [begin, end) as the original is marked.
void copy_poison(uintptr_t begin, uintptr_t end, uintptr_t to);
void unpoison(uintptr_t begin, uintptr_t end);

} // namespace emu
