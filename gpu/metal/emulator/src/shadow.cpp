#include "shadow.h"
#include <algorithm>

namespace emu {

Cell Cell::of_byte(int b) const {
    auto bit = [b](unsigned mask) { return (uint8_t)(mask >> b & 1); };
    Cell c = *this;
    c.write_mask = bit(write_mask);
    c.read_mask = bit(read_mask);
    c.shared_read = bit(shared_read);
    c.foreign_read = bit(foreign_read);
    c.any_write = bit(any_write);
    c.any_read = bit(any_read);
    c.any_atomic = bit(any_atomic);
    if (!c.write_mask)
        c.writer = 0;
    if (!c.read_mask)
        c.reader = 0;
    return c;
}

void ShadowPage::reset() {
    split = false;
    memset((void*)words, 0, sizeof words);
}

void ShadowPage::split_words() {
    split = true;
    if (!bytes)
        bytes.reset(new Cell[kShadowBytes]);
    for (size_t i = 0; i < kShadowBytes; i++)
        bytes[i] = words[i / 4].of_byte((int)(i % 4));
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

// Appends the bytes of the mask, which begin at the address.
static void append(std::vector<Span>* spans, uintptr_t address, unsigned mask) {
    for (unsigned length; mask; address += length, mask >>= length) {
        length = (unsigned)__builtin_ctz(mask);
        if (length)
            continue; // bytes that are not set
        length = (unsigned)__builtin_ctz(~mask);
        if (!spans->empty() && spans->back().end == address)
            spans->back().end += length;
        else
            spans->push_back({address, address + length});
    }
}

static void append(Footprint* footprint, uintptr_t address, const Cell& cell) {
    append(&footprint->writes, address, cell.any_write);
    append(&footprint->reads, address, cell.any_read);
    append(&footprint->atomics, address, cell.any_atomic);
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
                append(footprint, address + i, page->bytes[i]);
        } else {
            for (size_t i = 0; i < kShadowBytes; i += 4)
                append(footprint, address + i, page->words[i / 4]);
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
