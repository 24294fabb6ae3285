// The memory checker: every load, store and atomic of a checked kernel comes here.
//
// bounds, alignment, initialisation here, races in race.cpp.
#include "worker.h"
#include <algorithm>

namespace emu {

namespace {

constexpr uint8_t kUnwritten = 0xCB; // threadgroup memory before the first write
constexpr uint32_t kRedZone = 32;    // between threadgroup variables

bool is_whole_word(uintptr_t begin, uintptr_t end) {
    return begin % 4 == 0 && end - begin >= 4;
}

void split_variable(Worker* w, SharedVariable* v) {
    v->split = true;
    for (uint32_t i = v->offset; i < v->offset + v->size; i++)
        w->shared_bytes[i] = w->shared_words[i / 4];
}

bool visit_shared(const Access& a, Cell& c) {
    if (!a.write && !c.written()) {
        a.report("uninitialised", "of threadgroup variable " + a.name() + " that no thread has written");
        return false;
    }
    return visit_cell(a, c, kShared);
}

[[noreturn]] void outside_variables(const Access& a, uint32_t offset) {
    constexpr uint32_t kNear = 64;
    std::string near = "no variable";
    for (auto& v : a.w->variables) {
        if (offset + kNear > v.offset && offset < v.offset + v.size + kNear)
            near = format("%s (%u bytes, offset %d)", v.name, v.size, (int)offset - (int)v.offset);
    }
    a.stop("out-of-bounds", "outside threadgroup memory, near " + near);
}

void access_shared(Access a) {
    Worker* w = a.w;
    auto offset = (uint32_t)(a.address - w->shared), end = offset + a.size;
    for (auto& v : w->variables) {
        if (offset >= v.offset && end <= v.offset + v.size)
            a.variable = &v;
    }
    if (!a.variable)
        outside_variables(a, offset);
    while (offset < end) {
        if (!is_whole_word(offset, end) && !a.variable->split)
            split_variable(w, a.variable);
        bool split = a.variable->split;
        if (!visit_shared(a, split ? w->shared_bytes[offset] : w->shared_words[offset / 4]))
            return;
        offset = split ? offset + 1 : (offset / 4 + 1) * 4;
    }
}

const BoundRange* find_range(const Access& a) {
    const BoundRange* found = nullptr;
    for (auto& r : a.w->checks->ranges) {
        if (a.address < r.begin || a.address + a.size > r.begin + r.length)
            continue;
        if (!found || (found->read_only && !r.read_only))
            found = &r;
    }
    return found;
}

[[noreturn]] void out_of_bounds(const Access& a) {
    std::string near = "outside memory: no buffer is bound";
    int64_t best = INT64_MAX;
    for (auto& r : a.w->checks->ranges) {
        int64_t offset = a.address - r.begin;
        int64_t distance = offset < 0 ? -offset : offset;
        if (distance >= best)
            continue;
        best = distance;
        near = format("outside every bound buffer, nearest is buffer(%d) %s: byte offset %ld of %zu", r.index,
                      r.name, (long)offset, r.length);
    }
    a.stop("out-of-bounds", near);
}

void access_device(Access a) {
    const BoundRange* range = a.range = find_range(a);
    auto begin = (uintptr_t)a.address, end = begin + a.size;
    if (!range) {
        if (!a.write) {
            for (auto& c : a.w->launch->kernel->module->constants) {
                if (begin >= c.first && end <= c.second)
                    return; // a constant of the program
            }
        }
        out_of_bounds(a);
    }
    if (a.write && (range->read_only || range->inlined))
        a.stop("write-to-constant", "to " + a.name());
    if (range->inlined)
        return;
    while (begin < end) {
        ShadowPage* page = a.w->checks->shadow.page(begin);
        if (page->poisoned && is_poisoned(begin, end))
            a.stop("poisoned", format("of poisoned bytes of %s, byte offset %zu", a.name().c_str(),
                                      (size_t)(a.address - range->begin)));
        if (!is_whole_word(begin, end) && !page->split)
            page->split_words();
        size_t offset = begin % kShadowBytes;
        if (!visit_cell(a, page->split ? page->bytes[offset] : page->words[offset / 4], kDevice))
            return;
        begin = page->split ? begin + 1 : (begin / 4 + 1) * 4;
    }
}

} // namespace

std::string Access::name() const {
    return variable ? variable->name : format("buffer(%d) %s", range->index, range->name);
}

void Access::report(const char* kind, const std::string& what, const std::string& tail) const {
    if (!w->checks->reported.insert(kind + std::to_string((uintptr_t)pc)).second) {
        w->failed = true;
        return;
    }
    fail(w, kind,
         format("%s of %u bytes %s, %s at %s%s", write ? "write" : "read", size, what.c_str(),
                describe(f).c_str(), source_line(w->launch->kernel->module, pc).c_str(), tail.c_str()));
}

void Access::stop(const char* kind, const std::string& what) const {
    report(kind, what);
    park(w);
}

void check_alignment(void* address, uint64_t alignment, const char* what, void* pc) {
    Worker* w = this_worker;
    if ((uintptr_t)address % alignment == 0 || !w || !w->current || !w->checked || w->failed)
        return;
    fail(w, "misaligned",
         format("%s at %p, which is no multiple of %lu, %s at %s", what, address, (unsigned long)alignment,
                describe(w->current).c_str(), source_line(w->launch->kernel->module, pc).c_str()));
    park(w);
}

// A kernel that runs too long would hang the GPU.
void check_time() {
    constexpr uint64_t kEvery = 1 << 20;
    Worker* w = this_worker;
    if (!w || !w->current || !w->checked || w->failed)
        return;
    if (++w->checks->ticks % kEvery != 0 || seconds_now() < w->checks->deadline)
        return;
    fail(w, "timeout", "the dispatch runs too long, e.g. " + describe(w->current));
    park(w);
}

void check_access(void* address, uint32_t size, bool write, bool atomic, void* pc) {
    Worker* w = this_worker;
    if (!w || !w->current || !w->checked || w->failed)
        return;
    Fiber* f = w->current;
    auto p = (uint8_t*)address;
    if ((char*)p >= f->stack_begin && (char*)p < f->stack_end)
        return; // the thread's own variables
    Access a{w, f, p, size, write, atomic, pc};
    if (p >= w->shared && p < w->shared + kSharedSpace)
        access_shared(a);
    else
        access_device(a);
}

void bind_ranges(Worker* w) {
    w->checks->ranges.clear();
    for (auto& p : w->launch->kernel->parameters) {
        if (p.kind == Parameter::kThreadgroup)
            continue;
        Binding& b = w->launch->bindings[p.index];
        w->checks->ranges.push_back(
            {b.data(), b.length, p.index, p.name, p.read_only != 0, b.buffer == nullptr});
    }
}

void* shared_memory(Worker* w, uint32_t id, uint64_t size, uint64_t align, const char* name) {
    for (auto& v : w->variables) {
        if (v.id == id)
            return w->shared + v.offset;
    }
    auto align_up = [align](uint64_t n) { return (n + align - 1) / align * align; };
    uint64_t used = align_up(w->shared_used) + size;
    uint32_t most = w->launch->kernel->module->wide ? kWideThreadgroupMemory : kThreadgroupMemory;
    if (used > most) {
        fail(w, "threadgroup-memory", format("more than %u bytes of threadgroup memory", most));
        park(w);
    }
    w->shared_used = (uint32_t)used;
    // Red zones tell one variable's overflow from its neighbour's use. They lie in space
    // beyond the limit that the kernel has.
    uint64_t offset = align_up(w->shared_end + (w->checked ? kRedZone : 0));
    w->shared_end = (uint32_t)(offset + size);
    if (w->shared_end > kSharedSpace) {
        fail(w, "threadgroup-memory", "too many variables");
        park(w);
    }
    w->variables.push_back({id, (uint32_t)offset, (uint32_t)size, name, false});
    memset(w->shared + offset, kUnwritten, size);
    if (w->checked) {
        auto first = w->shared_words.begin() + (long)(offset / 4);
        std::fill(first, first + (long)((offset % 4 + size + 3) / 4), Cell{});
    }
    return w->shared + offset;
}

void fail(Worker* w, const char* kind, const std::string& message) {
    std::string text = "kernel " + w->launch->kernel->name + ": " + message;
    if (w->checks->reported.insert(std::string(kind) + message.substr(0, 200)).second)
        violation(kind, "%s", text.c_str());
    if (!w->failed) {
        w->failed = true;
        w->error = std::string(kind) + ": " + text + seed_note();
    }
}

std::string describe(const Fiber* f) {
    auto& t = f->context.position_in_threadgroup;
    auto& g = f->context.threadgroup_position;
    return format("thread (%u,%u,%u) of threadgroup (%u,%u,%u)", t.x, t.y, t.z, g.x, g.y, g.z);
}

} // namespace emu
