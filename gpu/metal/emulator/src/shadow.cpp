#include "shadow.h"
#include <algorithm>

namespace emu {

void ShadowPage::reset() {
    split = false;
    memset((void*)words, 0, sizeof words);
}

void ShadowPage::split_words() {
    split = true;
    if (!bytes)
        bytes.reset(new Cell[kShadowBytes]);
    for (size_t i = 0; i < kShadowBytes; i++)
        bytes[i] = words[i / 4];
}

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
    page->reset();
    page->poisoned = is_poisoned(number * kShadowBytes, (number + 1) * kShadowBytes);
    return page;
}

static void append(std::vector<Span>* spans, uintptr_t address, uintptr_t length) {
    if (!spans->empty() && spans->back().end == address)
        spans->back().end += length;
    else
        spans->push_back({address, address + length});
}

static void append(Footprint* footprint, uintptr_t address, uintptr_t length, const Cell& cell) {
    if (cell.touched & 1 << kPlainWrite)
        append(&footprint->writes, address, length);
    if (cell.touched & 1 << kPlainRead)
        append(&footprint->reads, address, length);
    if (cell.touched & (1 << kAtomicWrite | 1 << kAtomicRead))
        append(&footprint->atomics, address, length);
}

void Shadow::collect(Footprint* footprint) {
    std::vector<uintptr_t> numbers;
    for (auto& p : pages_)
        numbers.push_back(p.first);
    std::sort(numbers.begin(), numbers.end());
    for (uintptr_t number : numbers) {
        const ShadowPage* page = pages_[number];
        uintptr_t address = number * kShadowBytes;
        if (page->split) {
            for (size_t i = 0; i < kShadowBytes; i++)
                append(footprint, address + i, 1, page->bytes[i]);
        } else {
            for (size_t i = 0; i < kShadowBytes; i += 4)
                append(footprint, address + i, 4, page->words[i / 4]);
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
