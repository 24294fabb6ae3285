// MTLBlitCommandEncoder: copies and fills, in order.
#include "metal.h"

namespace emu {

namespace {

constexpr uint64_t kGranule = 4; // macOS wants offsets and sizes that are multiples of this

bool check_range(const char* what, const char* which, Buffer* b, uint64_t offset, uint64_t size) {
    if (size == 0 || offset > b->length || size > b->length - offset) {
        violation("blit", "%s: %lu bytes at offset %lu of the %s buffer of %zu bytes", what,
                  (unsigned long)size, (unsigned long)offset, which, b->length);
        return false;
    }
    if (offset % kGranule || size % kGranule) {
        violation("blit", "%s: offset %lu and size %lu must be multiples of 4", what, (unsigned long)offset,
                  (unsigned long)size);
        return false;
    }
    return true;
}

bool check_buffer(Encoder* e, const char* what, Buffer* b) {
    return expect_object(b, metal.buffer, what) &&
           same_device(e->buffer->state->queue->device, b->device, what);
}

void add_command(Encoder* e, std::unique_ptr<Command> c) {
    for (Buffer* b : {c->source, c->target}) {
        if (!b)
            continue;
        hold(e->buffer, b);
        e->pass->tracked |= b->tracked;
    }
    Step s{Step::kCommand};
    s.command = std::move(c);
    add_step(e, std::move(s));
}

void copy(Encoder* e, SEL, Buffer* source, uint64_t source_offset, Buffer* target, uint64_t target_offset,
          uint64_t size) {
    const char* what = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
    if (!check_open(e, what) || !check_buffer(e, what, source) || !check_buffer(e, what, target))
        return;
    if (!check_range(what, "source", source, source_offset, size) ||
        !check_range(what, "destination", target, target_offset, size))
        return;
    auto from = (uintptr_t)source->bytes + source_offset, to = (uintptr_t)target->bytes + target_offset;
    if (from < to + size && to < from + size) {
        violation("blit", "%s: source and destination overlap", what);
        return;
    }
    auto c = std::make_unique<Command>();
    c->source = source;
    c->source_offset = source_offset;
    c->target = target;
    c->target_offset = target_offset;
    c->size = size;
    add_command(e, std::move(c));
}

void fill(Encoder* e, SEL, Buffer* target, NSRange range, uint8_t value) {
    const char* what = "fillBuffer:range:value:";
    if (!check_open(e, what) || !check_buffer(e, what, target) ||
        !check_range(what, "destination", target, range.location, range.length))
        return;
    auto c = std::make_unique<Command>();
    c->target = target;
    c->target_offset = range.location;
    c->size = range.length;
    c->value = value;
    add_command(e, std::move(c));
}

} // namespace

void define_blit_encoder() {
    Class* c = metal.blit_encoder = define<Encoder>("EmuMTLBlitCommandEncoder", ns_object);
    define_encoder_methods(c);
    method(c, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", "v@:@Q@QQ", copy);
    method(c, "fillBuffer:range:value:", "v@:@{_NSRange=QQ}C", fill);
}

} // namespace emu
