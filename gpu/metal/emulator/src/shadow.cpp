#include "shadow.h"
#include <algorithm>

namespace emu {

ShadowPage* Shadow::find(uintptr_t number) {
    auto& page = pages_[number];
    if (page)
        return page;
    if (free_.empty()) {
        constexpr size_t kBlock = 64;
        blocks_.emplace_back(new ShadowPage[kBlock]);
        for (size_t i = 0; i < kBlock; i++)
            free_.push_back(&blocks_.back()[i]);
    }
    page = free_.back();
    free_.pop_back();
    memset((void*)page, 0, sizeof *page);
    page->poisoned = is_poisoned(number * kShadowBytes, (number + 1) * kShadowBytes);
    return page;
}

static void append(std::vector<Span>* spans, uintptr_t byte) {
    if (!spans->empty() && spans->back().end == byte)
        spans->back().end++;
    else
        spans->push_back({byte, byte + 1});
}

void Shadow::collect(Footprint* footprint) {
    std::vector<uintptr_t> numbers;
    for (auto& p : pages_)
        numbers.push_back(p.first);
    std::sort(numbers.begin(), numbers.end());
    for (uintptr_t number : numbers) {
        ShadowPage* page = pages_[number];
        uintptr_t address = number * kShadowBytes;
        for (auto& cell : page->cells) {
            for (int b = 0; b < 4; b++, address++) {
                if (cell.any_write >> b & 1)
                    append(&footprint->writes, address);
                if (cell.any_read >> b & 1)
                    append(&footprint->reads, address);
                if (cell.any_atomic >> b & 1)
                    append(&footprint->atomics, address);
            }
        }
    }
}

void Shadow::clear() {
    for (auto& p : pages_)
        free_.push_back(p.second);
    pages_.clear();
    for (auto& e : recent_)
        e = {};
}

} // namespace emu
