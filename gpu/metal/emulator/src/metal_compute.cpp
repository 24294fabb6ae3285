// MTLComputeCommandEncoder.
#include "metal.h"

namespace emu {

namespace {

constexpr uint64_t kMaxInlineBytes = 4096; // setBytes
constexpr uint64_t kScopeBuffers = 1;      // MTLBarrierScopeBuffers
constexpr uint64_t kMaxDimension = 1ull << 31;

bool check_index(const char* what, uint64_t index) {
    if (index < kMaxBindings)
        return true;
    violation("encoder", "%s: index %lu is above 30", what, (unsigned long)index);
    return false;
}

void set_pipeline(Encoder* e, SEL, Pipeline* p) {
    const char* what = "setComputePipelineState:";
    if (!check_open(e, what) || !expect_object(p, metal.pipeline, what))
        return;
    if (!same_device(e->buffer->state->queue->device, p->device, what))
        return;
    e->bindings->pipeline = p;
    hold(e->buffer, p);
}

void set_buffer(Encoder* e, SEL, Buffer* b, uint64_t offset, uint64_t index) {
    const char* what = "setBuffer:offset:atIndex:";
    if (!check_open(e, what) || !check_index(what, index))
        return;
    Binding& binding = e->bindings->table[index];
    binding = Binding{};
    if (!b)
        return;
    if (!expect_object(b, metal.buffer, what) ||
        !same_device(e->buffer->state->queue->device, b->device, what))
        return;
    if (offset >= b->length) {
        violation("encoder", "%s: offset %lu is past the buffer's %zu bytes", what, (unsigned long)offset,
                  b->length);
        return;
    }
    binding.buffer = b;
    binding.bytes = b->bytes + offset;
    binding.length = b->length - offset;
    hold(e->buffer, b);
}

void set_buffers(Encoder* e, SEL, Buffer* const* list, const uint64_t* offsets, NSRange range) {
    for (uint64_t i = 0; i < range.length; i++)
        set_buffer(e, nullptr, list[i], offsets[i], range.location + i);
}

void set_buffer_offset(Encoder* e, SEL, uint64_t offset, uint64_t index) {
    const char* what = "setBufferOffset:atIndex:";
    if (!check_open(e, what) || !check_index(what, index))
        return;
    Binding& binding = e->bindings->table[index];
    auto b = static_cast<Buffer*>(binding.buffer);
    if (!b) {
        violation("encoder", "%s: no buffer is set at index %lu", what, (unsigned long)index);
        return;
    }
    if (offset >= b->length) {
        violation("encoder", "%s: offset %lu is past the buffer's %zu bytes", what, (unsigned long)offset,
                  b->length);
        return;
    }
    binding.bytes = b->bytes + offset;
    binding.length = b->length - offset;
}

void set_bytes(Encoder* e, SEL, const uint8_t* bytes, uint64_t length, uint64_t index) {
    const char* what = "setBytes:length:atIndex:";
    if (!check_open(e, what) || !check_index(what, index))
        return;
    if (!bytes || length == 0 || length > kMaxInlineBytes) {
        violation("encoder", "%s: length %lu (1 to 4096 bytes)", what, (unsigned long)length);
        return;
    }
    Binding& binding = e->bindings->table[index];
    binding = Binding{};
    binding.copy.assign(bytes, bytes + length);
    binding.length = length;
}

void set_threadgroup_length(Encoder* e, SEL, uint64_t length, uint64_t index) {
    const char* what = "setThreadgroupMemoryLength:atIndex:";
    if (!check_open(e, what) || !check_index(what, index))
        return;
    if (length % 16 || length > kThreadgroupMemory) {
        violation("encoder", "%s: length %lu (a multiple of 16, at most 32768)", what, (unsigned long)length);
        return;
    }
    e->bindings->threadgroup_lengths[index] = (uint32_t)length;
}

bool check_threadgroup_parameter(const Launch& l, const Parameter& p, uint64_t* total) {
    uint32_t length = l.threadgroup_lengths[p.index];
    if (!length)
        violation("dispatch", "kernel %s: no threadgroup memory length set at index %d for %s",
                  l.kernel->name.c_str(), p.index, p.name);
    *total += length;
    return length != 0;
}

bool check_buffer_parameter(Launch& l, const Parameter& p) {
    const char* kernel = l.kernel->name.c_str();
    Binding& b = l.bindings[p.index];
    if (!b.bound()) {
        violation("dispatch", "kernel %s: missing buffer binding at index %d for %s[0]", kernel, p.index,
                  p.name);
        return false;
    }
    if (p.kind == Parameter::kReference && b.length < p.element_size) {
        violation("dispatch", "kernel %s: %zu bytes bound at index %d, %s needs %u", kernel, b.length,
                  p.index, p.name, p.element_size);
        return false;
    }
    uint32_t alignment = std::min(p.element_size & (~p.element_size + 1), 16u);
    if (b.buffer && (uintptr_t)b.bytes % alignment) {
        violation("dispatch", "kernel %s: buffer at index %d (%s) is not aligned to its %u-byte elements",
                  kernel, p.index, p.name, alignment);
        return false;
    }
    return true;
}

bool check_parameters(Launch& l) {
    uint64_t threadgroup_memory = 0;
    for (auto& p : l.kernel->parameters) {
        bool good = p.kind == Parameter::kThreadgroup ? check_threadgroup_parameter(l, p, &threadgroup_memory)
                                                      : check_buffer_parameter(l, p);
        if (!good)
            return false;
    }
    if (threadgroup_memory > kThreadgroupMemory)
        violation("dispatch", "kernel %s: %lu bytes of threadgroup memory, at most 32768",
                  l.kernel->name.c_str(), (unsigned long)threadgroup_memory);
    return threadgroup_memory <= kThreadgroupMemory;
}

bool is_sane(MTLSize s) {
    return s.width - 1 < kMaxDimension && s.height - 1 < kMaxDimension && s.depth - 1 < kMaxDimension;
}

Size3 narrow(MTLSize s) {
    return {(uint32_t)s.width, (uint32_t)s.height, (uint32_t)s.depth};
}

void dispatch(Encoder* e, SEL, MTLSize groups, MTLSize threads) {
    if (!check_open(e, "dispatchThreadgroups:threadsPerThreadgroup:"))
        return;
    auto& bindings = *e->bindings;
    if (!bindings.pipeline) {
        violation("dispatch", "no compute pipeline state is set");
        return;
    }
    if (!is_sane(groups) || !is_sane(threads)) {
        violation("dispatch",
                  "threadgroups (%lu,%lu,%lu), threads (%lu,%lu,%lu): every dimension must be at least 1 "
                  "(and sane: is MTLSize passed by the right convention?)",
                  (unsigned long)groups.width, (unsigned long)groups.height, (unsigned long)groups.depth,
                  (unsigned long)threads.width, (unsigned long)threads.height, (unsigned long)threads.depth);
        return;
    }
    uint64_t count = threads.width * threads.height * threads.depth;
    if (count > kMaxThreads) {
        violation("dispatch", "%lu threads in a threadgroup, the pipeline allows %u", (unsigned long)count,
                  kMaxThreads);
        return;
    }
    auto l = std::make_unique<Launch>();
    l->pipeline = bindings.pipeline;
    l->kernel = bindings.pipeline->kernel;
    l->groups = narrow(groups);
    l->threads = narrow(threads);
    for (int i = 0; i < kMaxBindings; i++) {
        l->bindings[i] = bindings.table[i];
        l->threadgroup_lengths[i] = bindings.threadgroup_lengths[i];
        auto b = static_cast<Buffer*>(l->bindings[i].buffer);
        e->pass->tracked |= b && is_alive(b) && b->tracked;
    }
    if (!check_parameters(*l))
        return;
    Step s{Step::kCommand};
    s.command = std::make_unique<Command>();
    s.command->launch = std::move(l);
    add_step(e, std::move(s));
}

void add_barrier(Encoder* e, std::vector<Span> ranges, bool all) {
    BarrierMark mark{(uint32_t)e->pass->steps.size(), all, ranges};
    e->pass->order->barriers.push_back(mark);
    Step s{Step::kBarrier};
    s.ranges = std::move(ranges);
    s.all = all;
    add_step(e, std::move(s));
}

void barrier_with_scope(Encoder* e, SEL, uint64_t scope) {
    if (!check_open(e, "memoryBarrierWithScope:"))
        return;
    if (scope == 0 || scope > 7) {
        violation("encoder", "memoryBarrierWithScope: %lu is no scope", (unsigned long)scope);
        return;
    }
    if (scope & kScopeBuffers)
        add_barrier(e, {}, true);
}

void barrier_with_resources(Encoder* e, SEL, Buffer* const* list, uint64_t count) {
    const char* what = "memoryBarrierWithResources:count:";
    if (!check_open(e, what))
        return;
    std::vector<Span> ranges;
    for (uint64_t i = 0; i < count; i++) {
        if (!expect_object(list[i], metal.buffer, what))
            return;
        auto begin = (uintptr_t)list[i]->bytes;
        ranges.push_back({begin, begin + list[i]->length});
        hold(e->buffer, list[i]);
    }
    add_barrier(e, ranges, false);
}

void use_resource(Encoder* e, SEL, Buffer* b, uint64_t) {
    if (check_open(e, "useResource:usage:") && expect_object(b, metal.buffer, "useResource:usage:"))
        hold(e->buffer, b);
}

} // namespace

void define_compute_encoder() {
    Class* c = metal.compute_encoder = define<Encoder>("EmuMTLComputeCommandEncoder", ns_object);
    define_encoder_methods(c);
    method(c, "setComputePipelineState:", "v@:@", set_pipeline);
    method(c, "setBuffer:offset:atIndex:", "v@:@QQ", set_buffer);
    method(c, "setBuffers:offsets:withRange:", "v@:^@^Q{_NSRange=QQ}", set_buffers);
    method(c, "setBufferOffset:atIndex:", "v@:QQ", set_buffer_offset);
    method(c, "setBytes:length:atIndex:", "v@:^vQQ", set_bytes);
    method(c, "setThreadgroupMemoryLength:atIndex:", "v@:QQ", set_threadgroup_length);
    method(c, "dispatchThreadgroups:threadsPerThreadgroup:", "v@:{MTLSize=QQQ}{MTLSize=QQQ}", dispatch);
    method(c, "memoryBarrierWithScope:", "v@:Q", barrier_with_scope);
    method(c, "memoryBarrierWithResources:count:", "v@:^@Q", barrier_with_resources);
    method(c, "useResource:usage:", "v@:@Q", use_resource);
}

} // namespace emu
