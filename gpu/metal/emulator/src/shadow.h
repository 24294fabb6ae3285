// Shadow memory: who touched which bytes in the dispatch that runs.
#pragma once
#include "kernel.h"
#include <cstring>
#include <memory>
#include <unordered_map>

namespace emu {

// The history of a word of 4 bytes, or of one byte where a kernel has made an access of
// less than a word. Masks have a bit for each byte. Threads are numbered from 1 over the
// grid; an epoch counts barriers of the threadgroup, a step those of the SIMD-group.
struct Cell {
    uint32_t writer, reader;
    uint32_t write_epoch, read_epoch;
    uint32_t write_step, read_step;
    uint8_t write_mask : 4, read_mask : 4;
    uint8_t shared_read : 4;  // read by several threads of one threadgroup with no barrier between
    uint8_t foreign_read : 4; // read by several threadgroups
    uint8_t write_atomic : 1, read_atomic : 1;
    uint8_t any_write : 4; // since the dispatch (the threadgroup) began
    uint8_t any_read : 4, any_atomic : 4;

    // The history of byte b of a word.
    Cell of_byte(int b) const;
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
