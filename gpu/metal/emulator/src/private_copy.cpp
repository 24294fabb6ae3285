#include "private_copy.h"
#include "metal.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace emu {

namespace {

constexpr uintptr_t kCacheLine = 128;
constexpr uintptr_t kCopyAlignment = 16384; // addresses of a copy agree with the original's below this

// Marks the bytes of the spans that lie in [begin, begin + marks.size()).
void mark(const std::vector<Span>& spans, uintptr_t begin, uint8_t bit, std::vector<uint8_t>* marks) {
    uintptr_t end = begin + marks->size();
    for (auto& s : spans) {
        for (uintptr_t b = std::max(s.begin, begin); b < std::min(s.end, end); b++)
            (*marks)[b - begin] |= bit;
    }
}

void shift(std::vector<Span>* spans, uintptr_t begin, uintptr_t end, ptrdiff_t by) {
    for (auto& s : *spans) {
        if (s.begin >= begin && s.begin < end)
            s = {s.begin + (uintptr_t)by, s.end + (uintptr_t)by};
    }
}

std::atomic<int64_t> holding{0};

// Waits as long as the option hold_us says, also if that changes meanwhile.
void hold() {
    double begin = seconds_now();
    holding++;
    while (seconds_now() - begin < (double)option(Option::HoldUs) * 1e-6)
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    holding--;
}

} // namespace

// The number of dispatches that have run and not yet written back.
EMU_API int64_t metalemu_holding() {
    return holding;
}

static std::mutex& private_copy_mutex() {
    static auto& m = *new std::mutex;
    return m;
}

PrivateCopy::PrivateCopy(Launch* launch) : lock_(private_copy_mutex()) {
    std::vector<Span> spans;
    for (auto& b : launch->bindings) {
        if (auto buffer = static_cast<Buffer*>(b.buffer)) {
            auto begin = (uintptr_t)buffer->bytes;
            spans.push_back({begin / kCacheLine * kCacheLine,
                             (begin + buffer->length + kCacheLine - 1) / kCacheLine * kCacheLine});
        }
    }
    std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return a.begin < b.begin; });
    for (size_t i = 0; i < spans.size();) {
        Span all = spans[i++];
        while (i < spans.size() && spans[i].begin < all.end) // two buffers over the same memory
            all.end = std::max(all.end, spans[i++].end);
        make_region(all.begin, all.end);
    }
    for (auto& b : launch->bindings) {
        for (auto& r : regions_) {
            auto p = (uintptr_t)b.bytes;
            if (b.buffer && p >= r.begin && p < r.end)
                b.bytes = r.copy + (p - r.begin);
        }
    }
}

void PrivateCopy::make_region(uintptr_t begin, uintptr_t end) {
    Region r{begin, end, nullptr, end - begin + 2 * kCopyAlignment, nullptr, {}};
    void* p = mmap(nullptr, r.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("metalemu: memory of a private copy");
        abort();
    }
    r.pages = (uint8_t*)p;
    uintptr_t base = ((uintptr_t)p + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
    r.copy = (uint8_t*)(base + begin % kCopyAlignment);
    memcpy(r.copy, (void*)begin, end - begin);
    r.before.assign((uint8_t*)begin, (uint8_t*)end);
    copy_poison(begin, end, (uintptr_t)r.copy);
    regions_.push_back(std::move(r));
}

PrivateCopy::~PrivateCopy() {
    for (auto& r : regions_) {
        unpoison((uintptr_t)r.copy, (uintptr_t)r.copy + (r.end - r.begin));
        munmap(r.pages, r.mapped);
    }
}

std::string PrivateCopy::write_back(const std::string& kernel, Footprint* footprint) {
    hold();
    std::string finding;
    for (auto& r : regions_) {
        write_back_region(r, *footprint, &finding);
        auto begin = (uintptr_t)r.copy, end = begin + (r.end - r.begin);
        for (auto spans : {&footprint->reads, &footprint->writes, &footprint->atomics})
            shift(spans, begin, end, r.shift());
    }
    for (auto spans : {&footprint->reads, &footprint->writes, &footprint->atomics})
        std::sort(spans->begin(), spans->end(), [](Span a, Span b) { return a.begin < b.begin; });
    if (!finding.empty())
        violation("host-access", "kernel %s: %s", kernel.c_str(), finding.c_str());
    return finding;
}

void PrivateCopy::write_back_region(const Region& r, const Footprint& f, std::string* finding) {
    enum : uint8_t { kRead = 1, kWritten = 2, kAtomic = 4 };
    std::vector<uint8_t> marks(r.end - r.begin);
    auto begin = (uintptr_t)r.copy;
    mark(f.reads, begin, kRead, &marks);
    mark(f.writes, begin, kWritten, &marks);
    mark(f.atomics, begin, kAtomic, &marks);
    auto memory = (volatile uint8_t*)r.begin;
    auto found = [&](uintptr_t offset, const char* what) {
        if (finding->empty())
            *finding = format("the CPU wrote the byte at %#lx while the dispatch was in flight, %s",
                              (unsigned long)(r.begin + offset), what);
    };
    for (uintptr_t line = 0; line < marks.size(); line += kCacheLine) {
        bool dirty = false;
        for (uintptr_t b = line; b < line + kCacheLine; b++)
            dirty |= (marks[b] & kWritten) || ((marks[b] & kAtomic) && r.copy[b] != r.before[b]);
        for (uintptr_t b = line; b < line + kCacheLine; b++) {
            if (memory[b] == r.before[b])
                continue;
            if (marks[b] & (kWritten | kAtomic))
                found(b, "which the kernel writes too");
            else if (marks[b] & kRead)
                found(b, "which the kernel reads");
            else if (dirty)
                found(b, "in a line of 128 bytes that the kernel writes (false sharing): the store is lost");
        }
        if (dirty)
            memcpy((void*)(r.begin + line), r.copy + line, kCacheLine);
    }
}

} // namespace emu
