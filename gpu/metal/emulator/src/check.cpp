// The memory checker: every load, store and atomic of a checked kernel comes here.
//
// Two accesses to a byte, one of them a write, are ordered if they are of one thread, or
// of one threadgroup with a threadgroup_barrier of fitting mem_flags between, or of one
// SIMD-group with such a simdgroup_barrier between. Anything else is a data race; two
// atomics are none. Not all readers are remembered: a race can be missed, not invented.
#include "worker.h"
#include <algorithm>

namespace emu {

namespace {

constexpr uint8_t kUnwritten = 0xCB; // threadgroup memory before the first write
constexpr uint32_t kRedZone = 32;    // between threadgroup variables

struct Access {
    Worker* w;
    Fiber* f;
    uint8_t* address;
    uint32_t size;
    bool write, atomic;
    void* pc;
    const BoundRange* range = nullptr; // what it touches: one of these
    SharedVariable* variable = nullptr;

    std::string name() const {
        return variable ? variable->name : format("buffer(%d) %s", range->index, range->name);
    }

    uint32_t me() const { return w->global_thread(f); }

    void report(const char* kind, const std::string& what, const std::string& tail = "") const {
        if (!w->reported.insert(kind + std::to_string((uintptr_t)pc)).second) {
            w->failed = true;
            return;
        }
        fail(w, kind,
             format("%s of %u bytes %s, %s at %s%s", write ? "write" : "read", size, what.c_str(),
                    describe(f).c_str(), source_line(w->launch->kernel->module, pc).c_str(), tail.c_str()));
    }

    [[noreturn]] void stop(const char* kind, const std::string& what) const {
        report(kind, what);
        park(w);
    }
};

bool ordered(const Worker* w, const Fiber* f, uint32_t other, uint32_t epoch, uint32_t step,
             MemorySpace space) {
    uint32_t me = w->global_thread(f);
    if (other == me)
        return true;
    uint32_t mine = me - 1, theirs = other - 1;
    if (mine / w->threads != theirs / w->threads)
        return false; // nothing orders two threadgroups within a dispatch
    if (epoch != w->epoch[space])
        return true;
    bool same_simdgroup = mine % w->threads / kSimdWidth == theirs % w->threads / kSimdWidth;
    return same_simdgroup && step != f->epoch[space];
}

std::string race_tail(const Worker* w, const char* did, uint32_t thread) {
    return format("; %s by thread %u of threadgroup #%u with no barrier between", did,
                  (thread - 1) % w->threads, (thread - 1) / w->threads);
}

// Judges an access to the bytes of `mask`; true if it is a race, which is then reported.
bool races(const Access& a, const Cell& c, uint8_t mask, MemorySpace space) {
    const Worker* w = a.w;
    bool both_atomic = a.atomic && c.write_atomic;
    if (c.writer && (c.write_mask & mask) && !both_atomic &&
        !ordered(w, a.f, c.writer, c.write_epoch, c.write_step, space)) {
        a.report("data-race", "of " + a.name(),
                 race_tail(w, c.write_atomic ? "atomically written" : "written", c.writer));
        return true;
    }
    if (!a.write || !c.reader || (a.atomic && c.read_atomic))
        return false;
    bool recent = !ordered(w, a.f, c.reader, c.read_epoch, c.read_step, space);
    // The remembered reader may be the writer itself; the others are not.
    bool others = (c.foreign_read & mask) ||
                  ((c.shared_read & mask) && c.read_epoch == w->epoch[space] &&
                   (c.reader - 1) / w->threads == w->group_index && c.read_step == a.f->epoch[space]);
    if (((c.read_mask & mask) && recent) || others) {
        a.report("data-race", "of " + a.name(), race_tail(w, "read", c.reader));
        return true;
    }
    return false;
}

void remember_write(const Access& a, Cell& c, uint8_t mask, MemorySpace space) {
    uint32_t epoch = a.w->epoch[space], step = a.f->epoch[space];
    bool more =
        c.writer == a.me() && c.write_epoch == epoch && c.write_step == step && c.write_atomic == a.atomic;
    c.write_mask = more ? c.write_mask | mask : mask;
    c.writer = a.me();
    c.write_epoch = epoch;
    c.write_step = step;
    c.write_atomic = a.atomic;
}

void remember_read(const Access& a, Cell& c, uint8_t mask, MemorySpace space) {
    uint32_t epoch = a.w->epoch[space], step = a.f->epoch[space];
    // Plain readers stay in preference to atomic ones: they conflict with more.
    if (a.atomic && c.reader && !c.read_atomic)
        return;
    bool fresh = !c.reader || c.read_atomic || ordered(a.w, a.f, c.reader, c.read_epoch, c.read_step, space);
    if (!fresh && !a.atomic) {
        uint8_t again = c.read_mask & mask;
        bool foreign = (c.reader - 1) / a.w->threads != a.w->group_index;
        if (foreign)
            c.foreign_read |= again;
        else
            c.shared_read |= again;
        if (again == mask)
            return;
    }
    bool same = c.reader == a.me() && c.read_epoch == epoch && c.read_step == step && !c.read_atomic;
    c.read_mask = same ? c.read_mask | mask : mask;
    if (fresh && !same)
        c.shared_read = 0;
    c.reader = a.me();
    c.read_epoch = epoch;
    c.read_step = step;
    c.read_atomic = a.atomic;
}

// Judges and remembers the bytes of one cell; false after a finding.
bool visit(const Access& a, Cell& c, uint8_t mask, MemorySpace space) {
    if (races(a, c, mask, space))
        return false;
    if (a.write) {
        remember_write(a, c, mask, space);
        c.any_write |= a.atomic ? 0 : mask;
    } else {
        remember_read(a, c, mask, space);
        c.any_read |= a.atomic ? 0 : mask;
    }
    c.any_atomic |= a.atomic ? mask : 0;
    return true;
}

constexpr uint8_t kWholeWord = 15;

// The bits of the bytes [offset, end) that lie in the cell of `offset`.
uint8_t cell_mask(uintptr_t offset, uintptr_t end) {
    uint8_t mask = 0;
    for (uintptr_t b = offset; b < end && b / 4 == offset / 4; b++)
        mask |= (uint8_t)(1 << (b & 3));
    return mask;
}

void split_variable(Worker* w, SharedVariable* v) {
    v->split = true;
    for (uint32_t i = v->offset; i < v->offset + v->size; i++)
        w->shared_bytes[i] = w->shared_words[i / 4].of_byte((int)(i % 4));
}

bool visit_shared(const Access& a, Cell& c, uint8_t mask) {
    uint8_t written = c.any_write | c.any_atomic;
    if (!a.write && (written & mask) != mask) {
        a.report("uninitialised", "of threadgroup variable " + a.name() + " that no thread has written");
        return false;
    }
    return visit(a, c, mask, kShared);
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
        uint8_t mask = cell_mask(offset, end);
        if (mask != kWholeWord && !a.variable->split)
            split_variable(w, a.variable);
        bool split = a.variable->split;
        if (!visit_shared(a, split ? w->shared_bytes[offset] : w->shared_words[offset / 4], split ? 1 : mask))
            return;
        offset = split ? offset + 1 : (offset / 4 + 1) * 4;
    }
}

const BoundRange* find_range(const Access& a) {
    const BoundRange* found = nullptr;
    for (auto& r : a.w->ranges) {
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
    for (auto& r : a.w->ranges) {
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
        ShadowPage* page = a.w->shadow.page(begin);
        if (page->poisoned && is_poisoned(begin, end))
            a.stop("poisoned", format("of poisoned bytes of %s, byte offset %zu", a.name().c_str(),
                                      (size_t)(a.address - range->begin)));
        uint8_t mask = cell_mask(begin, end);
        if (mask != kWholeWord && !page->split)
            page->split_words();
        size_t offset = begin % kShadowBytes;
        if (!visit(a, page->split ? page->bytes[offset] : page->words[offset / 4], page->split ? 1 : mask,
                   kDevice))
            return;
        begin = page->split ? begin + 1 : (begin / 4 + 1) * 4;
    }
}

} // namespace

void check_alignment(void* address, uint32_t alignment, uint32_t size, bool write, void* pc) {
    Worker* w = this_worker;
    if ((uintptr_t)address % alignment == 0 || !w || !w->current || !w->checked || w->failed)
        return;
    Access a{w, w->current, (uint8_t*)address, size, write, false, pc};
    a.stop("misaligned", format("at %p, which is no multiple of %u", address, alignment));
}

// A kernel that runs too long would hang the GPU; here it is noticed at its accesses.
static void check_time(const Access& a) {
    constexpr uint64_t kEvery = 1 << 20;
    if (++a.w->accesses % kEvery == 0 && seconds_now() > a.w->deadline)
        a.stop("timeout", "in a dispatch that runs too long");
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
    check_time(a);
    if (p >= w->shared && p < w->shared + kSharedSpace)
        access_shared(a);
    else
        access_device(a);
}

void bind_ranges(Worker* w) {
    w->ranges.clear();
    for (auto& p : w->launch->kernel->parameters) {
        if (p.kind == Parameter::kThreadgroup)
            continue;
        Binding& b = w->launch->bindings[p.index];
        w->ranges.push_back({b.data(), b.length, p.index, p.name, p.read_only != 0, b.buffer == nullptr});
    }
}

void* shared_memory(Worker* w, uint32_t id, uint64_t size, uint64_t align, const char* name) {
    for (auto& v : w->variables) {
        if (v.id == id)
            return w->shared + v.offset;
    }
    auto align_up = [align](uint64_t n) { return (n + align - 1) / align * align; };
    uint64_t used = align_up(w->shared_used) + size;
    if (used > kThreadgroupMemory) {
        fail(w, "threadgroup-memory", format("more than %u bytes of threadgroup memory", kThreadgroupMemory));
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
    if (w->reported.insert(std::string(kind) + message.substr(0, 200)).second)
        violation(kind, "%s", text.c_str());
    if (!w->failed) {
        w->failed = true;
        w->error = std::string(kind) + ": " + text;
    }
}

std::string describe(const Fiber* f) {
    auto& t = f->context.position_in_threadgroup;
    auto& g = f->context.threadgroup_position;
    return format("thread (%u,%u,%u) of threadgroup (%u,%u,%u)", t.x, t.y, t.z, g.x, g.y, g.z);
}

} // namespace emu
