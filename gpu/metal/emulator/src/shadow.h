// Shadow memory: who touched which bytes in the dispatch that runs.
#pragma once
#include "kernel.h"
#include <cstring>
#include <memory>
#include <unordered_map>

namespace emu {

// The last access of a kind. Threads are numbered from 1 over the grid (0: none); an epoch
// counts barriers of the threadgroup, a step those of the SIMD-group. Both stop at
// kManyBarriers.
struct LastAccess {
    uint32_t thread;
    uint16_t epoch, step;
};
constexpr uint32_t kManyBarriers = 0xffff;

inline uint16_t clip(uint32_t n) {
    return (uint16_t)(n < kManyBarriers ? n : kManyBarriers);
}

// What is known of the accesses before the last of its kind.
enum : uint8_t {
    kManyLanes = 1,       // another thread of its SIMD-group made one in this epoch and step
    kManySimdgroups = 2,  // one of another SIMD-group in this epoch
    kManyThreadgroups = 4 // one of another threadgroup in this dispatch
};

enum AccessKind { kPlainWrite, kPlainRead, kAtomicWrite, kAtomicRead, kAccessKinds };

// The history of a word of 4 bytes, or of one byte where a kernel has made an access of
// less than a word.
struct Cell {
    LastAccess last[kAccessKinds];
    uint8_t many[kAccessKinds / 2]; // four bits for each kind
    uint8_t touched;                // a bit for each kind, since the dispatch (the threadgroup) began

    uint8_t many_of(AccessKind k) const { return many[k / 2] >> (k % 2 * 4) & 15; }
    void set_many(AccessKind k, uint8_t bits) {
        int shift = k % 2 * 4;
        many[k / 2] = (uint8_t)((many[k / 2] & ~(15 << shift)) | bits << shift);
    }
    bool written() const { return touched & (1 << kPlainWrite | 1 << kAtomicWrite); }
};

constexpr size_t kShadowBytes = 1024; // memory that one page of shadow covers

struct ShadowPage {
    bool poisoned; // some byte of it is
    bool split;    // `bytes` counts, not `words`
    Cell words[kShadowBytes / 4];
    std::unique_ptr<Cell[]> bytes;
    void reset();
    void split_words();
};

// Pages are made when first touched, so that binding a large buffer costs nothing.
class Shadow {
  public:
    ShadowPage* page(uintptr_t address) {
        uintptr_t number = address / kShadowBytes;
        Entry& e = recent_[number % kRecent];
        if (e.number != number)
            e = {number, find(number)};
        return e.page;
    }
    // Appends what was touched, by plain and atomic accesses, as sorted spans.
    void collect(Footprint* footprint);
    void clear();

  private:
    struct Entry {
        uintptr_t number;
        ShadowPage* page;
    };
    static constexpr size_t kRecent = 256;
    ShadowPage* find(uintptr_t number);

    Entry recent_[kRecent] = {};
    std::unordered_map<uintptr_t, ShadowPage*> pages_;
    std::vector<ShadowPage*> free_;
    std::vector<std::unique_ptr<ShadowPage[]>> blocks_;
};

} // namespace emu
