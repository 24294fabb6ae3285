// What threads of the wide profile know of each other through release and acquire: see
// happens_before.cpp.
#pragma once
#include <cstdint>
#include <unordered_map>

namespace emu {

// Device accesses that have happened before.
struct Knowledge {
    std::unordered_map<uint32_t, uint16_t> threadgroups; // those of earlier epochs than this
    std::unordered_map<uint32_t, uint32_t> threads;      // those of this epoch and step (packed) or earlier
    void join(const Knowledge& other);
    bool empty() const { return threads.empty(); }
};

inline uint32_t pack(uint16_t epoch, uint16_t step) {
    return (uint32_t)epoch << 16 | step;
}

} // namespace emu
