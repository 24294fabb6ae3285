// What a test controls from outside: options, and what happens when a rule is broken.
#pragma once
#include <cstdint>
#include <string>

#define EMU_API extern "C" __attribute__((visibility("default")))

namespace emu {

enum class Option {
    Sanitize,    // 1: kernels are instrumented and every access is checked
    Optimise,    // -O level of the kernels
    Order,       // 0 forward, 1 reverse, above: seed of a permutation
    Resident,    // threadgroups of a checked dispatch that take turns at atomics; 0: 4 if `order` is above 1
    Threads,     // OS threads of one unchecked dispatch
    SimdStrict,  // 1: SIMD-group operations must be reached by all lanes
    NilStrict,   // 1: a message to nil is a violation
    Page,        // page size that no-copy memory must be aligned to
    Profile,     // 1: the devices listed are those of the wide profile
    Devices,     // how many devices MTLCopyAllDevices lists
    DelayUs,     // a command buffer starts this long after its commit
    StatusLagUs, // the status follows the last signal by this long
    FillKib,     // as much of a new buffer begins as garbage
    LineWriteback, // 1: dispatches work on copies of their buffers, see private_copy.h
    HoldUs,        // such a dispatch waits this long before it writes back
    FailCommand,   // N: the N-th next command buffer fails
    FailLibrary,
    FailPipeline,
    FailAlloc,
    FailPipelinePercent, // of the pipelines fail to be made
    KernelTimeoutMs,     // a checked dispatch that runs longer fails
    EventTimeoutMs,      // a command buffer that waits longer for an event fails
    Lost,                // 1: every command buffer fails
    Count
};

int64_t option(Option o);

// Counts a fail_* option down; true for the call that reaches zero.
bool countdown(Option o);

// Reports a broken rule. In abort mode (the default) the process ends with the
// message; in record mode the text is kept for metalemu_take_violations.
void violation(const char* kind, const char* format, ...) __attribute__((format(printf, 2, 3)));

// " [order=N]" if the order of what is not ordered follows a seed.
std::string seed_note();

std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A number below n for the given seed and round; one multiply-xorshift step.
inline uint32_t scramble(uint64_t seed, uint64_t round, uint32_t n) {
    uint64_t x = (seed + 1) * 0x9E3779B97F4A7C15ull + round * 0xBF58476D1CE4E5B9ull;
    x ^= x >> 31;
    x *= 0x94D049BB133111EBull;
    x ^= x >> 29;
    return (uint32_t)(x % n);
}

} // namespace emu
