// Poisoned bytes: memory that belongs to a buffer and that no kernel and no copy may touch.
#include "kernel.h"
#include <algorithm>
#include <map>
#include <mutex>

namespace emu {

namespace {

std::mutex poison_mutex;

std::map<uintptr_t, uintptr_t>& poisoned() {
    static auto& m = *new std::map<uintptr_t, uintptr_t>; // begin -> end, disjoint
    return m;
}

void unpoison_locked(uintptr_t begin, uintptr_t end) {
    auto& m = poisoned();
    auto it = m.upper_bound(begin);
    if (it != m.begin())
        --it;
    while (it != m.end() && it->first < end) {
        uintptr_t b = it->first, e = it->second;
        if (e <= begin) {
            ++it;
            continue;
        }
        it = m.erase(it);
        if (b < begin)
            m[b] = begin;
        if (e > end)
            m[end] = e;
    }
}

} // namespace

bool is_poisoned(uintptr_t begin, uintptr_t end) {
    std::lock_guard<std::mutex> lock(poison_mutex);
    auto& m = poisoned();
    auto it = m.lower_bound(end);
    return it != m.begin() && (--it)->second > begin;
}

void copy_poison(uintptr_t begin, uintptr_t end, uintptr_t to) {
    std::lock_guard<std::mutex> lock(poison_mutex);
    std::map<uintptr_t, uintptr_t> copies;
    for (auto& p : poisoned()) {
        uintptr_t b = std::max(p.first, begin), e = std::min(p.second, end);
        if (b < e)
            copies[b - begin + to] = e - begin + to;
    }
    poisoned().insert(copies.begin(), copies.end());
}

void unpoison(uintptr_t begin, uintptr_t end) {
    std::lock_guard<std::mutex> lock(poison_mutex);
    unpoison_locked(begin, end);
}

// Marks bytes that no kernel and no copy may touch, such as the slack behind an allocation.
EMU_API void metalemu_poison(uintptr_t address, uint64_t length) {
    if (!length)
        return;
    std::lock_guard<std::mutex> lock(poison_mutex);
    unpoison_locked(address, address + length);
    poisoned()[address] = address + length;
}

EMU_API void metalemu_unpoison(uintptr_t address, uint64_t length) {
    unpoison(address, address + length);
}

} // namespace emu
