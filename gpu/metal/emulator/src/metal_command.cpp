// MTLCommandQueue and MTLCommandBuffer as the program sees them; metal_queue.cpp runs them.
#include "metal.h"

namespace emu {

namespace {

constexpr uint64_t kDispatchSerial = 0, kDispatchConcurrent = 1;
constexpr int32_t kGlobalBlock = 1 << 28;

bool check_recording(CommandBuffer* b, const char* what) {
    auto& s = *b->state;
    if (s.status != Status::NotEnqueued) {
        violation("commit", "%s after commit", what);
        return false;
    }
    return true;
}

void encode_event(CommandBuffer* b, Event* e, uint64_t value, Operation::Kind kind, const char* what) {
    if (!check_recording(b, what) || !expect_object(e, metal.event, what))
        return;
    if (b->state->open_encoder)
        violation("encoder", "%s while encoder #%u is open", what, b->state->open_encoder->serial);
    hold(b, e);
    Operation op{kind};
    op.event = e;
    op.value = value;
    b->state->operations.push_back(std::move(op));
}

void add_handler(CommandBuffer* b, SEL, Block* block) {
    if (!check_recording(b, "addCompletedHandler:"))
        return;
    if (!(block->flags & kGlobalBlock)) {
        violation("handler", "addCompletedHandler: only global blocks are emulated");
        return;
    }
    b->state->handlers.push_back(block);
}

void commit_buffer(CommandBuffer* b, SEL) {
    auto& s = *b->state;
    if (s.status != Status::NotEnqueued) {
        violation("commit", "commit of a command buffer that is already committed");
        return;
    }
    if (s.open_encoder) {
        violation("commit", "commit while encoder #%u is open (endEncoding is missing)",
                  s.open_encoder->serial);
        return;
    }
    commit(b);
}

void wait_until_completed(CommandBuffer* b, SEL) {
    auto& s = *b->state;
    if (s.status == Status::NotEnqueued) {
        violation("commit", "waitUntilCompleted before commit: it would never return");
        return;
    }
    {
        std::unique_lock<std::mutex> lock(s.mutex);
        s.done.wait(lock, [&] { return s.finished; });
    }
    host_sees_completion(b);
}

uint64_t status(CommandBuffer* b, SEL) {
    Status s = b->state->status;
    if (s >= Status::Completed)
        host_sees_completion(b);
    return (uint64_t)s;
}

Object* error(CommandBuffer* b, SEL) {
    auto& s = *b->state;
    if (s.status != Status::Error)
        return nullptr;
    return ns_error("MTLCommandBufferErrorDomain", s.error_code, s.error);
}

Object* new_command_buffer(Queue* q, bool retains) {
    auto b = make<CommandBuffer>(metal.command_buffer);
    b->state.reset(new CommandBufferState);
    b->state->queue = q;
    b->state->retains = retains;
    retain(q);
    return autorelease(b);
}

Object* compute_encoder_with_type(CommandBuffer* b, SEL, uint64_t type) {
    if (type != kDispatchSerial && type != kDispatchConcurrent)
        violation("encoder", "dispatch type %lu (serial is 0, concurrent 1)", (unsigned long)type);
    return new_encoder(b, metal.compute_encoder, type != kDispatchConcurrent);
}

void define_queue() {
    Class* c = metal.queue = define<Queue>("EmuMTLCommandQueue", ns_object);
    method(c, "commandBuffer", "@@:", [](Queue* q, SEL) { return new_command_buffer(q, true); });
    method(c, "commandBufferWithUnretainedReferences",
           "@@:", [](Queue* q, SEL) { return new_command_buffer(q, false); });
    method(c, "device", "@@:", [](Queue* q, SEL) -> Object* { return q->device; });
    method(c, "setLabel:", "v@:@", [](Queue*, SEL, Object* s) { text_of(s); });
}

} // namespace

void host_sees_completion(CommandBuffer* b) {
    if (!b->state->seen.exchange(true))
        host_sees(b->state->completion);
}

CommandBuffer::~CommandBuffer() {
    for (Object* o : state->held)
        release(o);
    release(state->queue);
}

void define_command_buffer() {
    define_queue();
    Class* c = metal.command_buffer = define<CommandBuffer>("EmuMTLCommandBuffer", ns_object);
    method(c, "computeCommandEncoder", "@@:", [](CommandBuffer* b, SEL) -> Object* {
        return new_encoder(b, metal.compute_encoder, true);
    });
    method(c, "computeCommandEncoderWithDispatchType:", "@@:Q", compute_encoder_with_type);
    method(c, "blitCommandEncoder",
           "@@:", [](CommandBuffer* b, SEL) -> Object* { return new_encoder(b, metal.blit_encoder, true); });
    method(c, "encodeSignalEvent:value:", "v@:@Q", [](CommandBuffer* b, SEL, Event* e, uint64_t v) {
        encode_event(b, e, v, Operation::kSignal, "encodeSignalEvent:value:");
    });
    method(c, "encodeWaitForEvent:value:", "v@:@Q", [](CommandBuffer* b, SEL, Event* e, uint64_t v) {
        encode_event(b, e, v, Operation::kWait, "encodeWaitForEvent:value:");
    });
    method(c, "addCompletedHandler:", "v@:@?", add_handler);
    method(c, "commit", "v@:", commit_buffer);
    method(c, "waitUntilCompleted", "v@:", wait_until_completed);
    method(c, "status", "Q@:", status);
    method(c, "error", "@@:", error);
    method(c, "GPUStartTime", "d@:", [](CommandBuffer* b, SEL) { return b->state->start_time; });
    method(c, "GPUEndTime", "d@:", [](CommandBuffer* b, SEL) { return b->state->end_time; });
    method(c, "setLabel:", "v@:@", [](CommandBuffer* b, SEL, Object* s) { b->state->label = text_of(s); });
    method(c, "label", "@@:", [](CommandBuffer* b, SEL) { return ns_string(b->state->label); });
}

} // namespace emu
