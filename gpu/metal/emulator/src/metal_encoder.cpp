// What compute and blit encoders have in common.
#include "metal.h"

namespace emu {

Encoder::~Encoder() {
    if (!ended) {
        violation("encoder", "command encoder #%u released without endEncoding", serial);
        buffer->state->open_encoder = nullptr;
    }
    delete label;
    release(buffer);
}

void hold(CommandBuffer* b, Object* o) {
    if (o && b->state->retains)
        b->state->held.push_back(retain(o));
}

Encoder* new_encoder(CommandBuffer* b, Class* c, bool serial) {
    auto& s = *b->state;
    if (s.status != Status::NotEnqueued) {
        violation("encoder", "new command encoder on a committed command buffer");
        return nullptr;
    }
    if (s.open_encoder)
        violation("encoder", "new command encoder while encoder #%u of the same command buffer is still open",
                  s.open_encoder->serial);
    auto e = make<Encoder>(c);
    e->buffer = b;
    e->pass = std::make_shared<Pass>();
    e->pass->order->serial = serial;
    e->pass->order->label = format("encoder #%u", e->serial);
    e->label = new std::string;
    if (c == metal.compute_encoder)
        e->bindings.reset(new Encoder::Bindings);
    retain(b);
    s.open_encoder = e;
    Operation op{Operation::kPass};
    op.pass = e->pass;
    s.operations.push_back(std::move(op));
    autorelease(e);
    return e;
}

bool check_open(Encoder* e, const char* what) {
    if (e->ended)
        violation("encoder", "%s after endEncoding", what);
    return !e->ended;
}

void add_step(Encoder* e, Step step) {
    e->pass->steps.push_back(std::move(step));
    e->pass->order->steps = (uint32_t)e->pass->steps.size();
}

static void add_fence(Encoder* e, Fence* f, Step::Kind kind, const char* what) {
    if (!check_open(e, what) || !expect_object(f, metal.fence, what))
        return;
    Queue* queue = e->buffer->state->queue;
    if (!same_device(queue->device, f->device, what))
        return;
    if (f->queue && f->queue != queue)
        violation("fence", "%s: the fence was used on another queue; fences order work of one queue only",
                  what);
    f->queue = queue;
    hold(e->buffer, f);
    Step s{kind};
    s.fence = f;
    add_step(e, std::move(s));
}

static void end_encoding(Encoder* e, SEL) {
    if (e->ended) {
        violation("encoder", "endEncoding twice");
        return;
    }
    e->ended = true;
    e->buffer->state->open_encoder = nullptr;
}

void define_encoder_methods(Class* c) {
    method(c, "endEncoding", "v@:", end_encoding);
    method(c, "updateFence:", "v@:@",
           [](Encoder* e, SEL, Fence* f) { add_fence(e, f, Step::kUpdateFence, "updateFence:"); });
    method(c, "waitForFence:", "v@:@",
           [](Encoder* e, SEL, Fence* f) { add_fence(e, f, Step::kWaitFence, "waitForFence:"); });
    method(c, "setLabel:", "v@:@", [](Encoder* e, SEL, Object* s) {
        *e->label = text_of(s);
        e->pass->order->label = format("encoder #%u `%s`", e->serial, e->label->c_str());
    });
    method(c, "label", "@@:", [](Encoder* e, SEL) { return ns_string(*e->label); });
}

} // namespace emu
